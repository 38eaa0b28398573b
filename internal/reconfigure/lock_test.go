// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/goleak"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		os.Exit(child())
	}
	goleak.VerifyTestMain(m)
}

// id is the ID of the cluster.
func (b *bench) id(t *testing.T) membership.ClusterID {
	t.Helper()
	list, err := b.Client(t).MemberList(etcdtest.WaitContext(t))
	if err != nil {
		t.Fatal(err)
	}
	return membership.ClusterID(list.Header.ClusterId)
}

// key returns the key of the provider's metadata with that name for the cluster.
func (b *bench) key(t *testing.T, name string) string {
	t.Helper()
	return membership.MetadataPrefix + b.id(t).String() + "/" + name
}

// process returns an engine that shares nothing with the others, as another process.
func (b *bench) process(t *testing.T, who string, ttl time.Duration) *reconfigure.Engine {
	t.Helper()
	pool := &connection.Pool{}
	t.Cleanup(func() { _ = pool.Close() })
	return newEngine(connection.Settings{Endpoints: b.Endpoints()}, pool, who, ttl)
}

// diary is a lock that records its holders in order.
type diary struct {
	reconfigure.Locker
	mu      *sync.Mutex
	entries *[]string
}

type noted struct {
	claim.Hold
	diary diary
	doing string
}

func (d diary) note(words string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	*d.entries = append(*d.entries, words)
}

func (d diary) Acquire(ctx context.Context, id membership.ClusterID, doing string, waiting func(claim.Holder)) (claim.Hold, error) {
	h, err := d.Locker.Acquire(ctx, id, doing, waiting)
	if err != nil {
		return nil, err
	}
	d.note(doing)
	return noted{h, d, doing}, nil
}

func (n noted) Stop(ctx context.Context) error {
	n.diary.note("end " + n.doing)
	return n.Hold.Stop(ctx)
}

// If two processes add different members at the same time, both join, one after
// the other, on every version.
func TestTwoProcessesAddDifferentMembers(t *testing.T) {
	t.Parallel()
	for _, v := range etcdtest.Versions() {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			b := start(t, 3, etcdtest.Options{Version: v})
			d := diary{mu: &sync.Mutex{}, entries: new([]string)}
			var wg sync.WaitGroup
			for _, name := range []string{"d", "e"} {
				engine := b.process(t, "op-"+name+"@ops1", claim.LockTTL)
				d.Locker = engine.Locker
				engine.Locker = d
				p := b.NewJoiner(t, name)
				wg.Go(func() { b.startAnnounced(t, p) })
				wg.Go(func() {
					got, err := engine.Join(etcdtest.WaitContext(t), request(p, reconfigure.Voting))
					if err != nil || got.Member.Learner {
						t.Errorf("%s: %+v, %v", name, got.Member, err)
					}
				})
			}
			wg.Wait()
			if m := b.members(t); len(m) != 5 {
				t.Errorf("%d members, want 5", len(m))
			}
			// In either order, the second begins after the first has ended.
			for i := 0; i < len(*d.entries); i += 2 {
				if i+1 == len(*d.entries) || (*d.entries)[i+1] != "end "+(*d.entries)[i] {
					t.Fatalf("the lock was held like this: %q", *d.entries)
				}
			}
			if len(*d.entries) < 4 {
				t.Errorf("the lock was held like this: %q", *d.entries)
			}
			if kv := lockValue(t, b); kv != "" {
				t.Errorf("left at the key: %s", kv)
			}
		})
	}
}

// startAnnounced starts a process once its member is added, with the members of
// that time, as its machine does.
func (b *bench) startAnnounced(t *testing.T, p *etcdtest.Process) {
	for ctx := etcdtest.WaitContext(t); ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
		members, _, err := b.engine.Cluster.Members(ctx)
		if err != nil {
			continue
		}
		for i, m := range members {
			if m.PeerURLs[0] == p.PeerURL() {
				members[i].Name = p.Env["ETCD_NAME"]
				p.Env["ETCD_INITIAL_CLUSTER"] = membership.FormatInitialCluster(members)
				p.Supervise(100 * time.Millisecond)
				return
			}
		}
	}
}

func lockValue(t *testing.T, b *bench) string {
	t.Helper()
	got, err := b.Client(t).Get(etcdtest.WaitContext(t), b.key(t, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	for _, kv := range got.Kvs {
		return string(kv.Value)
	}
	return ""
}

// waited returns the message with 2s as the time waited for the lock, which depends
// on the machine.
func waited(m text.Message) text.Message {
	m.Detail = regexp.MustCompile(`waited for \w+`).ReplaceAllString(m.Detail, "waited for 2s")
	return m
}

// A failed wait for the lock names the holder, and the change was not made.
func TestTheOneThatWaitsSaysForWhom(t *testing.T) {
	t.Parallel()
	b := start(t, 3, etcdtest.Options{})
	held, err := b.process(t, "bob@ops2", claim.LockTTL).Locker.Acquire(etcdtest.WaitContext(t), b.id(t), "remove member infra9", nil)
	if err != nil {
		t.Fatal(err)
	}
	since := claim.HolderOf(claim.Entry{Value: lockValue(t, b)}).Since.Format(time.RFC3339)
	whole := "Another run is changing this cluster: bob@ops2 (process 4711, since " + since + ", to remove member infra9) holds the lock on membership changes. " +
		"This run waited for 2s, and nothing was changed. Let that run end, then apply again. " +
		"If it was killed, its lock expires by itself 20s after its last sign of life."

	d := b.NewJoiner(t, "d")
	busy := func(err error) bool { return errors.As(err, new(*claim.BusyError)) }
	err = runOut(t, busy, func(ctx context.Context) error {
		_, err := b.engine.Join(ctx, request(d, reconfigure.Announced))
		return err
	})
	if got, want := waited(text.Explain("add", "d", err)), (text.Message{Summary: "Cannot add member d", Detail: whole}); got != want {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	r := b.leaveRequest(t, "infra2")
	err = runOut(t, busy, func(ctx context.Context) error { _, err := b.engine.Leave(ctx, r); return err })
	if got, want := waited(text.Explain("remove", "infra2", err)), (text.Message{Summary: "Cannot remove member infra2", Detail: whole}); got != want {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	err = runOut(t, busy, func(ctx context.Context) error {
		_, err := b.engine.UpdatePeerURLs(ctx, reconfigure.UpdateRequest{
			ID: r.ID, Cluster: r.Cluster, Name: "infra2", PeerURLs: []string{"http://127.0.0.1:1"},
		})
		return err
	})
	if got, want := waited(text.Explain("update", "infra2", err)), (text.Message{Summary: "Cannot update member infra2", Detail: whole}); got != want {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if m := b.members(t); len(m) != 3 {
		t.Errorf("%d members, want 3", len(m))
	}
	if err := held.Stop(etcdtest.WaitContext(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := b.engine.Leave(etcdtest.WaitContext(t), r); err != nil {
		t.Errorf("with the lock free: %v", err)
	}
}

// Operations of one process wait for each other without a request to the
// cluster, and the error names the operation.
func TestTheOneBehindAnotherOfItsProcess(t *testing.T) {
	t.Parallel()
	b := start(t, 3, etcdtest.Options{})
	d := b.NewJoiner(t, "d")
	r := b.leaveRequest(t, "infra2")
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		// d never starts, so this keeps the lock.
		_, _ = b.engine.Join(ctx, request(d, reconfigure.Voting))
	})
	etcdtest.Until(t, "d is announced", func() bool { return len(b.members(t)) == 4 })
	err := runOut(t, func(err error) bool { return errors.As(err, new(*reconfigure.Queued)) },
		func(ctx context.Context) error { _, err := b.engine.Leave(ctx, r); return err })
	cancel()
	wg.Wait()
	want := text.Message{Summary: "Cannot remove member infra2", Detail: "The time allowed for it ran out while this run was busy with another change of the cluster (add member d); " +
		"members change one at a time. Nothing was changed for this one. Apply again; or allow more time (timeouts)."}
	if got := text.Explain("remove", "infra2", err); got != want {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// The lock of a killed process expires, and the others continue.
func TestTheLockOfADeadProcessExpires(t *testing.T) {
	t.Parallel()
	b := start(t, 1, etcdtest.Options{})
	// Take the lock, and never renew it.
	lock, ok := b.process(t, "bob@ops2", claim.LockTTL).Locker.(*claim.Lock)
	if !ok {
		t.Fatal("another kind of lock")
	}
	begin := time.Now()
	if _, err := lock.Store.Create(etcdtest.WaitContext(t), b.key(t, "lock"), `{"who":"bob@ops2"}`, 2*time.Second); err != nil {
		t.Fatal(err)
	}
	d := b.NewJoiner(t, "d")
	if _, err := b.engine.Join(etcdtest.WaitContext(t), request(d, reconfigure.Announced)); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begin); took < time.Second {
		t.Errorf("it went on after %v", took)
	}
}

// An operation that loses its lock stops before its next step, and reports the
// result: here the promotion of d, which starts only afterwards.
func TestALostLockStopsTheOperation(t *testing.T) {
	t.Parallel()
	b := start(t, 3, etcdtest.Options{})
	engine := b.process(t, "alice@ops1", 3*time.Second)
	d := b.NewJoiner(t, "d")
	result := make(chan error, 1)
	go func() {
		_, err := engine.Join(etcdtest.WaitContext(t), request(d, reconfigure.Voting))
		result <- err
	}()
	var learner membership.Member
	etcdtest.Until(t, "d is announced", func() bool {
		m := b.members(t)
		if len(m) == 4 {
			learner = m[3]
			for _, m := range m {
				if m.Learner {
					learner = m
				}
			}
		}
		return learner.Learner
	})
	other := `{"who":"bob@ops2","pid":12,"run":"x","since":"2026-11-21T01:02:03Z","doing":"add member e"}`
	if _, err := b.Client(t).Put(etcdtest.WaitContext(t), b.key(t, "lock"), other); err != nil {
		t.Fatal(err)
	}
	err := <-result
	want := text.Message{Summary: "Cannot add member d", Detail: "This run lost the lock on membership changes: " +
		"bob@ops2 (process 12, since 2026-11-21T01:02:03Z, to add member e) holds it now. That happens when its process or its machine stands still. " +
		"It stopped before its next step. According to the member list d (" + learner.ID.String() + ") is a learner now. Apply again: it carries on from there."}
	if got := text.Explain("add", "d", err); got != want {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if got := lockValue(t, b); got != other {
		t.Errorf("somebody else's lock was touched: %q", got)
	}
	d.Supervise(100 * time.Millisecond)
	_ = runOut(t, func(err error) bool { return errors.As(err, new(*claim.BusyError)) },
		func(ctx context.Context) error {
			_, err := engine.Join(ctx, request(d, reconfigure.Voting))
			return err
		})
	if _, err := b.Client(t).Delete(etcdtest.WaitContext(t), b.key(t, "lock")); err != nil {
		t.Fatal(err)
	}
	got, err := engine.Join(etcdtest.WaitContext(t), request(d, reconfigure.Voting))
	if err != nil || got.Member.ID != learner.ID {
		t.Errorf("carried on with %+v, %v", got.Member, err)
	}
}

// Operations without a change take no lock: those that only wait for initial
// members, and those whose members are already there.
func TestNoLockWithoutAChange(t *testing.T) {
	t.Parallel()
	b := start(t, 3, etcdtest.Options{})
	before, err := b.Client(t).Get(etcdtest.WaitContext(t), b.key(t, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range b.Members() {
		r := request(p, reconfigure.Voting)
		r.Bootstrap = membership.InitialMember
		if _, err := b.engine.Join(etcdtest.WaitContext(t), r); err != nil {
			t.Error(err)
		}
	}
	// The history of the key also shows a lock that was released.
	watch, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for answer := range b.Client(t).Watch(watch, b.key(t, "lock"), clientv3.WithRev(before.Header.Revision)) {
		for _, e := range answer.Events {
			t.Errorf("%s %s", e.Type, e.Kv.Value)
		}
	}
}

// childVariable makes the test binary a process that adds d. Its value is the
// endpoint and d's peer URL.
const childVariable = "RECONFIGURE_TEST_CHILD"

// child joins d with a lock that expires after 4 s, and prints the result.
func child() int {
	endpoint, peer, _ := strings.Cut(os.Getenv(childVariable), " ")
	pool := &connection.Pool{}
	defer func() { _ = pool.Close() }()
	engine := newEngine(connection.Settings{Endpoints: []string{endpoint}}, pool, "frozen@ops1", 4*time.Second)
	_, err := engine.Join(context.Background(), reconfigure.JoinRequest{Owner: "name:d", Name: "d", PeerURLs: []string{peer}, Goal: reconfigure.Voting})
	if err == nil {
		fmt.Println("joined")
		return 0
	}
	words := text.Explain("add", "d", err)
	fmt.Println(words.Summary + ": " + words.Detail)
	return 1
}

// A Terraform run that is frozen for longer than its lock lives, in the middle
// of a join, detects the lost lock when it continues, and reports it instead of
// promoting a learner that has started in the meantime.
func TestFrozenRun(t *testing.T) {
	t.Parallel()
	for _, v := range etcdtest.Maintained() {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			b := start(t, 1, etcdtest.Options{Version: v})
			d := b.NewJoiner(t, "d")
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(etcdtest.WaitContext(t), self)
			cmd.Env = append(os.Environ(), childVariable+"="+b.Endpoints()[0]+" "+d.PeerURL())
			var out strings.Builder
			cmd.Stdout = &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan struct{})
			go func() { _ = cmd.Wait(); close(ended) }() // however it ends
			t.Cleanup(func() { _ = cmd.Process.Kill() })
			etcdtest.Until(t, "d is announced", func() bool { return len(b.members(t)) == 2 })
			if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			etcdtest.Until(t, "the lock expires", func() bool { return lockValue(t, b) == "" })
			// Now the learner is ready for the promotion.
			d.Supervise(100 * time.Millisecond)
			if err := d.WaitReady(etcdtest.WaitContext(t)); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			<-ended
			var learner membership.Member
			for _, m := range b.members(t) {
				if m.Name == "d" {
					learner = m
				}
			}
			if !learner.Learner {
				t.Errorf("d was promoted: %+v", learner)
			}
			want := "Cannot add member d: This run lost the lock on membership changes: it is gone. That happens when its process or its machine stands still. " +
				"It stopped before its next step. According to the member list d (" + learner.ID.String() + ") is a learner now. Apply again: it carries on from there.\n"
			if out.String() != want {
				t.Errorf("got  %swant %s", out.String(), want)
			}
			got, err := b.engine.Join(etcdtest.WaitContext(t), request(d, reconfigure.Voting))
			if err != nil || got.Member.ID != learner.ID {
				t.Errorf("carried on with %+v, %v", got.Member, err)
			}
		})
	}
}
