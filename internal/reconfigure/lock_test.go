// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.uber.org/goleak"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/clock"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdsim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// changes are the methods that change the membership.
var changes = []string{"MemberAdd", "MemberPromote", "MemberRemove", "MemberUpdate", "MoveLeader"}

// The check of the lock is the last call before every change, and the change ends before a
// lock that was just checked can expire. No removal follows a write without another look.
func TestTheLockIsCheckedLast(t *testing.T) {
	for name, run := range map[string]func(b *bench) error{
		"add and promote": func(b *bench) error {
			b.boot("d")
			_, err := b.engine.Join(b.Context(), request("d", Voting))
			return err
		},
		"take an addition with other URLs back, and add": func(b *bench) error {
			r := request("d", Added)
			r.PeerURLs = []string{etcdsim.PeerURL("x")}
			b.join(r)
			_, err := b.engine.Join(b.Context(), request("d", Added))
			return err
		},
		"update the leader":  func(b *bench) error { return b.update(b.Context(), b.leaving("a"), "x") },
		"replace the leader": func(b *bench) error { _, err := b.engine.Remove(b.Context(), b.replacing("a")); return err },
		"replace a voter beside a learner": func(b *bench) error {
			b.boot("d")
			b.join(request("d", CaughtUp))
			_, err := b.engine.Remove(b.Context(), b.replacing("b"))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			simulateOn(t, &etcdsim.Network{MaxLearners: 2}, "a b c", func(b *bench) {
				b.ok(run(b))
				calls := slices.DeleteFunc(b.calls, func(c call) bool { return c.run != b.calls[0].run })
				made := 0
				for i, c := range calls {
					if !slices.Contains(changes, c.what) {
						continue
					}
					late := c.what == "MemberRemove" && calls[i-2].what == "Txn"
					if made++; calls[i-1].what != "check" || late {
						b.Errorf("%s follows %s and %s", c.what, calls[i-2].what, calls[i-1].what)
					}
					if c.limit == 0 || c.limit >= claim.LockTTL/3 {
						b.Errorf("%s may take %v", c.what, c.limit)
					}
				}
				if made < 2 {
					b.Errorf("%d changes were made", made)
				}
			})
		})
	}
}

// changes are changes of every kind, of d and of this member.
func (b *bench) changes(r RemoveRequest) map[string]func(context.Context) error {
	replace := r
	replace.Replacement = true
	return map[string]func(context.Context) error{
		"add":     func(ctx context.Context) error { _, err := b.engine.Join(ctx, request("d", Added)); return err },
		"remove":  func(ctx context.Context) error { _, err := b.engine.Remove(ctx, r); return err },
		"replace": func(ctx context.Context) error { _, err := b.engine.Remove(ctx, replace); return err },
		"update":  func(ctx context.Context) error { return b.update(ctx, r, "x") },
		"defragment": func(context.Context) error {
			return b.engine.Defragment(b.Context(), DefragmentRequest{Limit: time.Minute}, func(Step) {})
		},
	}
}

// update gives a member the peer URL of that name.
func (b *bench) update(ctx context.Context, r RemoveRequest, name string) error {
	_, err := b.engine.UpdatePeerURLs(ctx, UpdateRequest{Owner: r.Owner, ID: r.ID, Cluster: r.Cluster, Name: r.Name, PeerURLs: []string{etcdsim.PeerURL(name)}})
	return err
}

// A failed wait for the lock names the holder and changes nothing. Who got it after a long wait
// names the holder too. Operations of one process wait for each other without a request, and
// not longer than they may.
func TestWhoWaitsNamesTheHolder(t *testing.T) {
	simulate(t, "a b c", func(b *bench) {
		const doing = "remove member infra9"
		held, err := b.process("bob@ops2").Locker.Acquire(b.Context(), b.observed().ClusterID, doing, nil)
		b.ok(err)
		r := b.leaving("b")
		for name, change := range b.changes(r) {
			begin := time.Now()
			err := change(b.within(time.Minute))
			if busy, ok := errors.AsType[*claim.BusyError](err); !ok || busy.Holder.Who != "bob@ops2" || busy.Holder.Doing != doing || time.Since(begin) > time.Minute {
				b.Errorf("%s: got %v after %v", name, err, time.Since(begin))
			}
		}
		time.AfterFunc(longWait+time.Second, func() { _ = held.Stop(b.Context()) })
		var wg sync.WaitGroup
		for _, change := range []func() error{
			func() error { _, err := b.engine.Remove(b.within(time.Second), b.leaving("c")); return err },
			func() error {
				return b.engine.Defragment(b.Context(), DefragmentRequest{Limit: time.Second}, func(Step) {})
			},
		} {
			wg.Go(func() {
				time.Sleep(time.Second)
				if behind, ok := errors.AsType[*Queued](change()); !ok || behind.Behind != "remove member b" {
					b.Errorf("it was behind %+v", behind)
				}
			})
		}
		if left := b.leave(r); left.Waited == nil || left.Waited.Holder.Who != "bob@ops2" {
			b.Errorf("it waited for %+v", left.Waited)
		}
		wg.Wait()
		b.mustList("a c")
	})
}

// The lock of a killed process expires, and the others continue. A lock without a lease never
// becomes free by itself: every change fails at once, until the key is deleted.
func TestTheLockOfADeadProcess(t *testing.T) {
	simulate(t, "a b c", func(b *bench) {
		begin := time.Now()
		dead, _ := b.process("bob@ops2").Locker.(notedLocker)
		_, err := dead.Store.Create(b.Context(), b.key("lock"), `{"who":"bob@ops2"}`, claim.LockTTL)
		b.ok(err)
		b.join(request("d", Added))
		if took := time.Since(begin); took < claim.LockTTL || took > claim.LockTTL+5*time.Second {
			b.Errorf("it went on after %v", took)
		}
		b.leave(b.leaving("d"))
		b.put("lock", "hands off")
		leave := b.leaving("b")
		for name, change := range b.changes(leave) {
			begin := time.Now()
			if err := change(b.Context()); !errors.Is(err, claim.ErrForever) || time.Since(begin) > 2*time.Second {
				b.Errorf("%s: %v after %v", name, err, time.Since(begin))
			}
		}
		if got := b.value("lock"); got != "hands off" {
			b.Errorf("the lock is %q", got)
		}
		b.delete("lock")
		b.leave(leave)
	})
}

// An operation that loses its lock, because its process or its machine stood still, stops
// before its next step, although d is ready for its promotion by then, and reports the result
// if it can. Somebody else's lock is not touched. The next call carries on.
func TestALostLockStopsTheOperation(t *testing.T) {
	const other = `{"who":"bob@ops2","pid":12,"run":"x","since":"2026-11-21T01:02:03Z","doing":"add member e"}`
	for name, c := range map[string]struct{ cut, checked bool }{"taken": {false, true}, "cut off": {true, false}} {
		each(t, name, "a b c", func(b *bench) {
			result := make(chan error, 1)
			go func() { _, err := b.engine.Join(b.Context(), request("d", Voting)); result <- err }()
			time.Sleep(10 * time.Second)
			b.put("lock", other)
			if c.cut {
				for _, p := range b.Processes() {
					b.net.Cut("alice@ops1", p.ClientURL)
				}
			}
			time.Sleep(claim.LockTTL)
			b.boot("d")
			lost, ok := errors.AsType[*LockLost](<-result)
			if !ok || lost.Name != "d" || lost.Checked != c.checked || lost.Listed != c.checked {
				b.Fatalf("got %+v", lost)
			}
			time.Sleep(time.Second)
			b.mustList("(d) a b c")
			if got := b.value("lock"); got != other {
				b.Errorf("somebody else's lock was touched: %q", got)
			}
			b.delete("lock")
			for _, p := range b.Processes() {
				b.net.Heal("alice@ops1", p.ClientURL)
			}
			id := b.member("d").ID
			if got := b.join(request("d", Voting)); got.Member.ID != id || c.checked && lost.Member.ID != id {
				b.Errorf("carried on with %+v", got.Member)
			}
		})
	}
}

// A wait for an initial member changes nothing, and takes no lock.
func TestNoLockWithoutAChange(t *testing.T) {
	simulate(t, "a b c", func(b *bench) {
		r := request("b", Voting)
		r.Initial = true
		b.join(r)
		if n := len(b.made("lock", "LeaseGrant")); n > 0 {
			b.Errorf("the lock was taken: %d", n)
		}
	})
}

// A join that the servers refuse tries again after longer and longer pauses, although it takes
// the lock for each attempt.
func TestARefusedJoinBacksOff(t *testing.T) {
	simulate(t, "a b c", func(b *bench) {
		begin := time.Now()
		b.each = func(c etcdsim.Call) error {
			if c.Method == "/etcdserverpb.Cluster/MemberAdd" && time.Since(begin) < time.Minute {
				return rpctypes.ErrGRPCUnhealthy
			}
			return nil
		}
		b.boot("d")
		b.join(request("d", Voting))
		// About 35 until the pause is half a second, and two in each second after that.
		if n := len(b.made("MemberAdd")); n < 100 || n > 200 {
			b.Errorf("it was sent %d times in a minute", n)
		}
	})
}

// How long an operation continues with each kind of error, and with which error
// it ends by itself or when an hour is over.
func TestRepeat(t *testing.T) {
	refused := func(v membership.Verdict, c membership.Code) *Refusal {
		return &Refusal{Action: ActionAdd, Decision: membership.Decision{Verdict: v, Code: c}}
	}
	const soonEnough, short, hour = 0, healthInterval, time.Hour
	unknown := errors.New("unknown")
	for name, tt := range map[string]struct {
		err   error
		takes time.Duration
		late  bool // it ends by the timeout
	}{
		"an error of no known kind":       {err: unknown, takes: soonEnough},
		"another cluster":                 {err: &OtherCluster{}, takes: soonEnough},
		"an outcome that is not known":    {err: fmt.Errorf("%w: lost", cluster.ErrAmbiguous), takes: hour, late: true},
		"a decision to wait":              {err: refused(membership.Wait, membership.NoLeader), takes: hour, late: true},
		"a refusal that may pass":         {err: refused(membership.Refuse, membership.QuorumLost), takes: short},
		"a refusal for good":              {err: refused(membership.Refuse, membership.NameTaken), takes: soonEnough},
		"a refusal for good, in doubt":    {err: retryingBriefly(refused(membership.Refuse, membership.NameTaken)), takes: soonEnough},
		"a decision to wait, in doubt":    {err: retryingBriefly(refused(membership.Wait, membership.NoLeader)), takes: short},
		"any error, in doubt":             {err: retryingBriefly(unknown), takes: short},
		"any error, to be tried again":    {err: retrying(unknown), takes: hour, late: true},
		"an unknown outcome, final":       {err: stopping(cluster.ErrAmbiguous), takes: soonEnough},
		"a change that was sent":          {err: sent(nil, "sent"), takes: hour, late: true},
		"a change that was denied":        {err: sent(cluster.ErrPermission, ""), takes: soonEnough},
		"a change that the servers doubt": {err: sent(cluster.ErrUnhealthy, ""), takes: hour, late: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), hour)
				defer cancel()
				begin := time.Now()
				err := (&Engine{Clock: clock.System{}}).repeat(ctx, ActionAdd, "d", func() error { return tt.err })
				if took := time.Since(begin); took < tt.takes || took > tt.takes+2*slowPoll {
					t.Errorf("it took %v, want %v", took, tt.takes)
				}
				if r, ok := errors.AsType[*Refusal](err); ok && r.Timeout != tt.late {
					t.Errorf("late is %v, want %v", r.Timeout, tt.late)
				}
				if errors.As(err, new(outcome)) || errors.As(err, new(note)) || err == nil {
					t.Errorf("got %#v, want the cause", err)
				}
			})
		})
	}
}

// One observation is not enough for a refusal, however long it takes: a machine
// that stands still for longer than a request may take is healthy again in the
// next one. So does a step that waits for a lock first. The same holds for the first
// refusal after a reason to wait.
func TestRepeatDoubtsAfterASlowStep(t *testing.T) {
	doubt := retryingBriefly(&Refusal{Decision: membership.Decision{Code: membership.QuorumLost}})
	for name, tt := range map[string]struct {
		errs    []error
		refused bool
	}{
		"once":                    {errs: []error{doubt, nil}},
		"twice":                   {errs: []error{doubt, doubt, nil}, refused: true},
		"after a reason to wait":  {errs: []error{retrying(note("wait")), doubt, nil}},
		"around a reason to wait": {errs: []error{doubt, retrying(note("wait")), doubt, nil}},
		"after a change":          {errs: []error{sent(nil, "sent"), doubt, nil}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				step := 0
				err := (&Engine{Clock: clock.System{}}).repeat(t.Context(), ActionAdd, "d", func() error {
					time.Sleep(healthInterval + time.Second)
					step++
					return tt.errs[step-1]
				})
				if (err != nil) != tt.refused {
					t.Errorf("got %v after %d observations", err, step)
				}
			})
		})
	}
}

// A step that the timeout cuts short says nothing: the answer before it is the
// error. An interruption is reported as such.
func TestRepeatCutShort(t *testing.T) {
	answer := &Refusal{Decision: membership.Decision{Verdict: membership.Wait, Code: membership.NoLeader}}
	for _, interrupted := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if interrupted {
				time.AfterFunc(time.Second, cancel)
			}
			first := true
			err := (&Engine{Clock: clock.System{}}).repeat(ctx, ActionAdd, "d", func() error {
				if first {
					first = false
					return answer
				}
				<-ctx.Done()
				return ctx.Err()
			})
			if interrupted && !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want the interruption", err)
			}
			if r, ok := errors.AsType[*Refusal](err); !interrupted && (!ok || r != answer || !r.Timeout) {
				t.Errorf("got %v, want the answer before", err)
			}
		})
	}
}
