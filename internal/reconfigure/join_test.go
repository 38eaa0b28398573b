// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdsim"
)

// Endpoints of two clusters change nothing. Initial members that each formed their own
// cluster are neither adopted nor joined, even while only one of them answers. The error
// names those that answer, and waits for others that may be about to.
func TestClustersApart(t *testing.T) {
	simulate(t, "a", func(b *bench) {
		other := &bench{T: b.T, net: b.net, Cluster: b.net.Form(release, "b")}
		both := []string{etcdsim.ClientURL("a"), etcdsim.ClientURL("b")}
		_, err := b.processAt("mixed", both...).Join(b.Context(), request("d", Added))
		b.mustRefuse("joining two clusters", err, membership.MixedClusters)
		for name, c := range map[string]struct {
			endpoints []string
			member    string
			initial   int
			isInitial bool
			others    int
			waits     bool
		}{
			"one of two answers":                     {both[:1], "a", 2, true, 0, true},
			"two of three answer":                    {both, "a", 3, true, 1, true},
			"all answer":                             {both, "b", 2, true, 1, false},
			"an initial member that does not answer": {both[:1], "c", 3, true, 0, true},
			"a joiner of the cluster to be":          {both, "c", 2, false, 1, false},
		} {
			r := request(c.member, Voting)
			r.Initial, r.AwaitCluster, r.InitialMembers = c.isInitial, true, c.initial
			begin := time.Now()
			_, err := b.processAt(name, c.endpoints...).Join(b.Context(), r)
			b.mustNotIdentify(name, err, membership.FormedAlone)
			if not, ok := errors.AsType[*Unidentified](err); ok && (not.InitialMembers != c.initial || len(not.Snapshot.Others) != c.others) {
				b.Errorf("%s: %+v", name, not)
			}
			if waited := time.Since(begin) > healthInterval; waited != c.waits {
				b.Errorf("%s: after %v", name, time.Since(begin))
			}
		}
		for _, one := range []*bench{b, other} {
			if n := len(one.Members()); n != 1 {
				b.Errorf("%d members after refusals", n)
			}
		}
		b.mustOwn("")
	})
}

// An initial member adopts no list entry that another owner has on record: the successor of a
// member that another run has replaced.
func TestAnInitialMemberOfAnother(t *testing.T) {
	simulate(t, "a", func(b *bench) {
		b.boot("d")
		b.join(request("d", Voting))
		before := request("d", Voting)
		before.Owner, before.Initial = "initial-1", true
		_, err := b.process("another").Join(b.Context(), before)
		b.mustNotIdentify("that was replaced", err, membership.AlreadyMember)
		b.mustOwn("name:d")
	})
}

// A process with another name than its etcd_member stays a learner, also on a second attempt,
// and joins under its correct name.
func TestAnotherNameGetsNoVote(t *testing.T) {
	simulate(t, "a", func(b *bench) {
		b.boot("d")
		wrong := request("d", Voting)
		wrong.Name = "x"
		for range 2 {
			_, err := b.engine.Join(b.Context(), wrong)
			b.mustNotIdentify("joining", err, membership.OtherName)
			b.mustList("(d) a")
		}
		b.join(request("d", Voting))
		b.mustList("a d")
	})
}

// A join whose time runs out gives the reason that its latest whole observation shows, and
// not that a later one failed.
func TestTheLastWholeObservationGivesTheReason(t *testing.T) {
	reason := func(b *bench, limit time.Duration, name string, want membership.Code) *Incomplete {
		_, err := b.engine.Join(b.within(limit), request(name, Voting))
		late, ok := errors.AsType[*Incomplete](err)
		if !ok || late.Decision.Code != want {
			b.Fatalf("got %v, want the reason %q", err, want)
		}
		return late
	}
	each(t, "while it waits for a place", "a", func(b *bench) {
		b.boot("d")
		taken := b.join(request("d", CaughtUp)).Member.ID
		time.AfterFunc(time.Minute, b.members["a"].Freeze)
		late := reason(b, time.Minute+time.Second, "e", membership.LearnerSlotTaken)
		if m, _ := late.Snapshot.Member(taken); m.Name != "d" {
			b.Errorf("it has waited for the slot of %+v", m)
		}
	})
	each(t, "once it was added", "a", func(b *bench) { // each observation costs a request timeout
		d := b.boot("d")
		b.join(request("d", CaughtUp))
		d.Freeze()
		if late := reason(b, 3*connection.DefaultRequestTimeout+time.Second, "d", membership.NotAlive); late.Reached != Started {
			b.Errorf("got to %v", late.Reached)
		}
	})
}

// sending is a cluster whose leader sends a snapshot to every member for some time.
type sending struct {
	cluster.Cluster
	until time.Time
}

func (s sending) Metrics(ctx context.Context, of membership.MemberID) (cluster.Metrics, error) {
	m, err := s.Cluster.Metrics(ctx, of)
	m.Sending = map[membership.MemberID]bool{}
	for other := range m.Connected {
		m.Sending[other] = time.Now().Before(s.until)
	}
	return m, err
}

// A learner that makes no progress is given up, but not while the leader sends it a snapshot,
// however long that takes. The next join continues.
func TestStalled(t *testing.T) {
	for name, transfer := range map[string]time.Duration{"without a snapshot": 0, "with a snapshot": time.Hour} {
		each(t, name, "a b c", func(b *bench) {
			d := b.boot("d")
			b.join(request("d", Started))
			d.PowerOff()
			sent := time.Now().Add(transfer)
			b.engine.Cluster = sending{b.engine.Cluster, sent}
			_, err := b.engine.Join(b.within(2*time.Hour), request("d", Voting))
			if late, ok := errors.AsType[*Incomplete](err); !ok || !late.Stalled {
				b.Fatal(err)
			}
			if still := time.Since(sent); still <= StallTimeout/2 || still > StallTimeout+time.Minute {
				b.Errorf("given up %s after the transfer", still)
			}
			b.ok(d.Start())
			b.join(request("d", Voting))
		})
	}
}

// While a join waits for its member, it makes a small write every two seconds: a learner that
// lost the publication of its name behind a snapshot cannot publish it again on an idle
// cluster, because etcd refuses proposals of a member that has applied no entry and is more
// than 5,000 behind ("too many requests").
func TestTheWaitWritesEntries(t *testing.T) {
	simulate(t, "a", func(b *bench) {
		b.join(request("d", Added))
		b.made()
		_, err := b.engine.Join(b.within(time.Minute), request("d", Voting))
		if !errors.As(err, new(*Incomplete)) {
			b.Error(err)
		}
		if n := len(b.made("Txn")); n < 25 || n > 40 {
			b.Errorf("%d writes in a minute", n)
		}
	})
}

// A member is added anew only if it never started, or is gone for us and for the leader.
func TestOnlyAGoneMemberIsAddedAnew(t *testing.T) {
	for name, c := range map[string]struct {
		member string
		how    func(b *bench)
		gone   bool
	}{
		"a voter that answers":                    {"b", func(*bench) {}, false},
		"a voter that is silent for us":           {"b", func(b *bench) { b.net.Cut("alice@ops1", etcdsim.ClientURL("b")) }, false},
		"a voter that ended":                      {"b", func(b *bench) { b.members["b"].PowerOff() }, true},
		"a learner that never started":            {"d", func(b *bench) { b.join(request("d", Added)) }, true},
		"a leader, which no other leader can see": {"a", func(b *bench) { b.net.Cut("alice@ops1", etcdsim.ClientURL("a")) }, false},
	} {
		each(t, name, "a b c", func(b *bench) {
			c.how(b)
			snap, err := b.engine.observe(b.Context(), 0)
			b.ok(err)
			if err := b.engine.isGone(b.Context(), snap, b.member(c.member).ID); (err == nil) != c.gone {
				b.Error(err)
			}
		})
	}
}

// After a removal the next change waits until the remaining members follow a leader
// (etcd-io/etcd#15528, etcd-io/etcd#14040), and the same URL is not added until the ID
// computed from it differs (etcd-io/etcd#10765).
func TestSettle(t *testing.T) {
	simulate(t, "a b c", func(b *bench) {
		added := b.join(request("d", Added)).Member.ID
		end := time.Now().Add(10 * time.Second)
		b.alter(end, func(s *membership.Snapshot) {
			for id, a := range s.Answers {
				if _, listed := s.Member(added); !listed {
					a.Leader = 0
					s.Answers[id] = a
				}
			}
		})
		b.leave(b.leaving("d"))
		if time.Now().Before(end) {
			b.Error("the removal was over before there was a leader")
		}
		b.join(request("e", Added))
		b.leave(b.leaving("e"))
		b.join(request("e", Added))
		calls := b.made("MemberRemove", "MemberAdd")
		if n := len(calls); n != 5 || calls[4].at.Sub(calls[3].at) < time.Second {
			b.Errorf("the same URL was back at once: %+v", calls)
		}
	})
}

// mustWait fails the test unless these replacements are on record.
func (b *bench) mustWait(want ...string) {
	b.Helper()
	all, err := cluster.All(b.Context(), b.process("test").Cluster.Turns(b.observed().ClusterID))
	b.ok(err)
	var got []string
	for _, turn := range all {
		got = append(got, turn.Name)
	}
	if !slices.Equal(got, want) {
		b.Errorf("on record are %v, want %v", got, want)
	}
}

// A turn is on record from the removal until another member was added, and does not come back
// when the cluster shrinks.
func TestTurnIsOverForGood(t *testing.T) {
	simulate(t, "a b c", func(b *bench) {
		b.leave(b.replacing("c"))
		b.mustWait("c")
		b.boot("d")
		b.join(request("d", Voting))
		b.mustWait()
		b.leave(b.leaving("d"))
		b.leave(b.replacing("b"))
	})
}

// A turn whose configuration is destroyed permanently is given up, even if the cluster does
// not answer at first, and if this process has seen the removal of the member. If that fails,
// the caller gets the error, which names the key.
func TestAbandonReplacement(t *testing.T) {
	simulate(t, "a b c", func(b *bench) {
		r := b.leaving("c")
		answer, failures := status.Error(codes.Unavailable, "lost"), 3
		b.each = func(c etcdsim.Call) error {
			if d, ok := c.Request.(*etcdserverpb.DeleteRangeRequest); ok && strings.Contains(string(d.Key), "/turns/") {
				if failures--; failures >= 0 {
					return answer
				}
			}
			return nil
		}
		turn := func(voters int) {
			_, err := b.engine.Cluster.Turns(r.Cluster).Put(b.Context(), membership.Turn{Name: "c", Voters: voters, Since: time.Now(), By: "x"})
			b.ok(err)
		}
		turn(3)
		b.ok(b.engine.AbandonReplacement(b.Context(), "o", "c"))
		b.mustWait()

		turn(4)
		failures, answer = 1, rpctypes.ErrGRPCPermissionDenied
		if err := b.engine.AbandonReplacement(b.Context(), "o", "c"); !errors.Is(err, cluster.ErrPermission) {
			b.Errorf("denied: %v", err)
		}
		failures, answer = 1_000_000, status.Error(codes.Unavailable, "lost")
		err := b.engine.AbandonReplacement(b.Context(), "o", "c")
		if left, ok := errors.AsType[*cluster.NotDeleted](err); !ok || left.Key != b.key("turns/c") {
			b.Errorf("never answered: %v", err)
		}
		over, end := context.WithCancel(b.Context())
		time.AfterFunc(time.Second, end)
		if err := b.engine.AbandonReplacement(over, "o", "c"); !errors.Is(err, context.Canceled) {
			b.Errorf("interrupted: %v", err)
		}

		b.leave(r) // the turn stays
		b.mustWait("c")
		failures = 0
		b.ok(b.engine.AbandonReplacement(b.Context(), r.Owner, "c"))
		b.mustWait()
	})
}

// A change of peer URLs changes the record of the member too.
func TestTheRecordFollowsThePeerURLs(t *testing.T) {
	simulate(t, "a b c", func(b *bench) {
		b.forge(recordFor("name:b", b.member("b")))
		b.ok(b.update(b.Context(), b.leaving("b"), "moved"))
		r, _, err := b.engine.Cluster.Records(b.observed().ClusterID).Get(b.Context(), "name:b")
		if want := etcdsim.PeerURL("moved"); b.member("b").PeerURLs[0] != want || err != nil || r.PeerURLs[0] != want {
			b.Errorf("it is listed at %v, and on record is %v, %v", b.member("b").PeerURLs, r.PeerURLs, err)
		}
	})
}

// The machines of a cluster that is given up are destroyed side by side, so a server that
// answers may be about to end. Only an answer that repeats counts, and an interruption is
// never taken for silence.
func TestAnAnswerWhileTheServerEnds(t *testing.T) {
	const never = time.Hour
	for name, c := range map[string]struct {
		ends   time.Duration
		stated string
		code   membership.Code
	}{
		"it is silent":             {0, "a", ""},
		"it ends":                  {time.Second, "a", ""},
		"it stays":                 {never, "a", membership.Contradicted},
		"it stays, nothing stated": {never, "", membership.MayServe},
		"it ends, nothing stated":  {time.Second, "", membership.NotStated},
		"another is stated":        {0, "b", membership.NotStated},
	} {
		each(t, name, "a", func(b *bench) {
			id := b.observed().ClusterID
			b.engine.Process.Know(id, b.member("a"))
			end := time.Now().Add(c.ends)
			b.members["a"].PowerOff()
			b.each = func(etcdsim.Call) error { // it shows itself, and serves nothing
				if time.Now().Before(end) {
					return status.Error(codes.Unavailable, "error reading from server: EOF")
				}
				return nil
			}
			err := b.engine.GiveUp(b.Context(), membership.GiveUpRequest{Cluster: id, Gone: strings.Fields(c.stated)})
			kept, refused := errors.AsType[*NotGivenUp](err)
			if refused != (c.code != "") || refused && kept.Decision.Code != c.code || !refused && err != nil {
				b.Error(err)
			}
			end = time.Now().Add(c.ends)
			_, err = b.engine.CleanUp(b.Context(), CleanUpRequest{Owner: "o", Name: "a"})
			if err == nil || cluster.MayServe(err) != (c.ends == never) {
				b.Errorf("the backstop: %v", err)
			}
			ctx, cancel := context.WithCancel(b.Context())
			b.each = func(etcdsim.Call) error { cancel(); return nil }
			err = b.engine.MayGiveUp(ctx, membership.GiveUpRequest{Cluster: id})
			if !errors.Is(err, context.Canceled) {
				b.Errorf("interrupted: %v", err)
			}
		})
	}
}
