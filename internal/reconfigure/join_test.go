// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdsim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// witness keeps the observations of an engine, and how many it had made before each promotion,
// after which the member stands still for ten seconds.
type witness struct {
	cluster.Cluster
	seen   []membership.Snapshot
	before []int
	member *etcdsim.Process
}

func (w *witness) Observe(ctx context.Context, want membership.ClusterID) (membership.Snapshot, error) {
	s, err := w.Cluster.Observe(ctx, want)
	w.seen = append(w.seen, s)
	return s, err
}

func (w *witness) Promote(ctx context.Context, via, id membership.MemberID) error {
	w.before = append(w.before, len(w.seen))
	defer time.AfterFunc(10*time.Second, w.member.Thaw)
	defer w.member.Freeze()
	return w.Cluster.Promote(ctx, via, id)
}

// A member joins, from one voter on. It is promoted only if it was alive in the observation
// directly before, and the join ends only when it answers as a voter. Then the leader leaves.
func TestJoinThenTheLeaderLeaves(t *testing.T) {
	for _, names := range []string{"a", "a b c"} {
		each(t, names, names, func(b *bench) {
			w := &witness{Cluster: b.engine.Cluster, member: b.boot("d")}
			b.engine.Cluster = w
			got := b.join(request("d", Voting))
			if got.Member.Learner || got.Member.Name != "d" || got.Answer.State != membership.Answered || len(got.Members) != len(b.members) {
				b.Errorf("joined as %+v, answering %+v, of %d members", got.Member, got.Answer, len(got.Members))
			}
			for _, n := range w.before {
				if a := w.seen[n-1].Answer(got.Member.ID); a.State != membership.Answered || !a.Learner {
					b.Errorf("promoted after it had answered %+v", a)
				}
			}
			if last := w.seen[len(w.seen)-1]; len(w.before) != 1 || !last.Alive(got.Member.ID) || last.Answer(got.Member.ID).Learner {
				b.Errorf("after %d promotions it answered %+v", len(w.before), last.Answer(got.Member.ID))
			}
			leader := b.Leader().Name
			r := b.leaving(leader)
			b.leave(r)
			b.leave(r) // it is removed already
			if slices.ContainsFunc(b.observed().Members, func(m membership.Member) bool { return m.Name == leader }) {
				b.Errorf("%s is still in the list", leader)
			}
		})
	}
}

// A learner that does not answer, or has not caught up, is not promoted, and the error says
// why. It is promoted once it does.
func TestALearnerIsNotPromotedTooEarly(t *testing.T) {
	for name, c := range map[string]struct {
		before, after func(p *etcdsim.Process)
		code          membership.Code
	}{
		"it does not answer":   {(*etcdsim.Process).Freeze, (*etcdsim.Process).Thaw, membership.NotAlive},
		"it has not caught up": {(*etcdsim.Process).Stall, (*etcdsim.Process).CatchUp, membership.Lagging},
		"it ended":             {(*etcdsim.Process).PowerOff, func(p *etcdsim.Process) { _ = p.Start() }, membership.NotAlive},
	} {
		each(t, name, "a", func(b *bench) {
			d := b.boot("d")
			r := request("d", CaughtUp)
			got := b.join(r)
			r.Goal, r.ID, r.Cluster = Voting, got.Member.ID, got.Cluster
			c.before(d)
			for range 2000 {
				_, err := b.client().Put(b.Context(), "key", "")
				b.ok(err)
			}
			_, err := b.engine.Join(b.within(time.Minute), r)
			late, ok := errors.AsType[*Incomplete](err)
			if !ok || late.Decision.Code != c.code || late.Reached != Started || late.Member.ID != r.ID {
				b.Errorf("got %v (%+v)", err, late)
			}
			b.mustList("(d) a")
			c.after(d)
			b.join(r)
			b.mustList("a d")
		})
	}
}

// A member whose failure would cost the quorum is not added while a follower is away, and
// nothing is left on record. The removal of the follower is allowed, and then the addition is.
func TestJoinWhileAFollowerIsAway(t *testing.T) {
	simulate(t, "a b c", func(b *bench) {
		r := b.leaving("c")
		b.boot("d")
		b.members["c"].Freeze()
		_, err := b.engine.Join(b.within(2*time.Minute), request("d", Voting))
		b.mustRefuse("adding", err, membership.MemberDown)
		b.mustList("a b c")
		b.mustOwn("")
		b.leave(r)
		b.join(request("d", Voting))
		b.mustList("a b d")
	})
}

// Without a cluster a join fails soon, with the answer of each endpoint. If the cluster is
// being formed, it waits until its timeout or an interruption.
func TestNoClusterToJoin(t *testing.T) {
	simulate(t, "a", func(b *bench) {
		e := b.processAt("none", etcdsim.ClientURL("x"))
		begin := time.Now()
		_, err := e.Join(b.Context(), request("d", Voting))
		gone, _ := errors.AsType[*connection.Unreachable](err)
		if !errors.As(err, new(*NoCluster)) || gone == nil || len(gone.Answers) != 1 || time.Since(begin) > 2*healthInterval {
			b.Errorf("joining no cluster: %v after %v", err, time.Since(begin))
		}
		forming := request("d", Voting)
		forming.Bootstrap = membership.InitialMember
		_, err = e.Join(b.within(time.Minute), forming)
		if none, ok := errors.AsType[*NoCluster](err); !ok || !none.Forming || time.Since(begin) < time.Minute {
			b.Errorf("out of time: %v", err)
		}
		ctx, cancel := context.WithCancel(b.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := e.Join(ctx, forming); !errors.Is(err, context.Canceled) || errors.As(err, new(*NoCluster)) {
			b.Errorf("interrupted: %v", err)
		}
	})
}

// A cluster that is being formed may not have its quorum yet.
func TestJoinWaitsForTheQuorumOfAFormingCluster(t *testing.T) {
	simulate(t, "a b c", func(b *bench) {
		b.members["b"].PowerOff()
		b.members["c"].PowerOff()
		time.Sleep(time.Minute)
		_, err := b.engine.Join(b.Context(), request("d", Announced))
		b.mustRefuse("of a cluster that was formed", err, membership.QuorumLost)
		time.AfterFunc(time.Minute, func() { _ = b.members["b"].Start() })
		r := request("a", Voting)
		r.Bootstrap = membership.InitialMember
		b.join(r)
	})
}

// Endpoints of two clusters change nothing. Initial members that each formed their own
// cluster are neither adopted nor joined, even while only one of them answers. The error
// names those that answer, and waits for others that may be about to.
func TestClustersApart(t *testing.T) {
	simulate(t, "a", func(b *bench) {
		other := &bench{T: b.T, net: b.net, Cluster: b.net.Form(release, "b")}
		both := []string{etcdsim.ClientURL("a"), etcdsim.ClientURL("b")}
		_, err := b.processAt("mixed", both...).Join(b.Context(), request("d", Announced))
		b.mustRefuse("joining two clusters", err, membership.MixedClusters)
		for name, c := range map[string]struct {
			endpoints []string
			member    string
			initial   int
			bootstrap membership.Bootstrap
			others    int
			waits     bool
		}{
			"one of two answers":                     {both[:1], "a", 2, membership.InitialMember, 0, true},
			"two of three answer":                    {both, "a", 3, membership.InitialMember, 1, true},
			"all answer":                             {both, "b", 2, membership.InitialMember, 1, false},
			"an initial member that does not answer": {both[:1], "c", 3, membership.InitialMember, 0, true},
			"a joiner of the cluster to be":          {both, "c", 2, membership.LaterMember, 1, false},
		} {
			r := request(c.member, Voting)
			r.Bootstrap, r.AwaitCluster, r.InitialMembers = c.bootstrap, true, c.initial
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

// A member that was added and never ran may be added again.
func TestAnIdentityThatNeverRanJoinsAgain(t *testing.T) {
	simulate(t, "a", func(b *bench) {
		first := b.join(request("d", Announced))
		l := b.leaving("d")
		l.KeepRecord = true
		b.leave(l)
		if second := b.join(request("d", Announced)); second.Member.ID == first.Member.ID {
			b.Errorf("again: %s after %s", second.Member.ID, first.Member.ID)
		}
	})
}

// A process with another name than its etcd_member is not promoted. It stays a learner, and
// joins under its correct name. A member that a state has under another name can be removed.
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
		m := b.member("d")
		if got := b.join(request("d", Voting)); got.Member.ID != m.ID || got.Member.Learner {
			b.Errorf("under its name: %+v", got.Member)
		}
		l := b.leaving("d")
		l.Name = "x"
		b.leave(l)
		b.mustList("a")
	})
}

// An initial member adopts no list entry with another name, and none that another owner has
// on record: the successor of a member that another run has replaced.
func TestAnInitialMemberOfAnother(t *testing.T) {
	simulate(t, "a", func(b *bench) {
		r := request("a", Voting)
		r.Name, r.Bootstrap = "x", membership.InitialMember
		_, err := b.engine.Join(b.Context(), r)
		b.mustNotIdentify("under another name", err, membership.InitialRenamed)
		b.boot("d")
		b.join(request("d", Voting))
		before := request("d", Voting)
		before.Owner, before.Bootstrap = "initial-1", membership.InitialMember
		_, err = b.process("another").Join(b.Context(), before)
		b.mustNotIdentify("that was replaced", err, membership.AlreadyMember)
		b.mustOwn("name:d")
	})
}

// A join whose time runs out gives the reason that its latest whole observation shows: a
// frozen learner costs each observation a request timeout. A later observation that fails
// does not change the reason.
func TestEveryObservationGivesAReason(t *testing.T) {
	const observation = connection.DefaultRequestTimeout
	for name, c := range map[string]struct {
		limit time.Duration
		want  membership.Code
	}{
		"before the member is identified": {2*observation - time.Second, ""},
		"once it is identified":           {2*observation + time.Second, membership.NotAlive},
		"after a second observation":      {3*observation + time.Second, membership.NotAlive},
	} {
		each(t, name, "a", func(b *bench) {
			d := b.boot("d")
			b.join(request("d", CaughtUp))
			d.Freeze()
			_, err := b.engine.Join(b.within(c.limit), request("d", Voting))
			late, ok := errors.AsType[*Incomplete](err)
			if !ok || late.Decision.Code != c.want {
				b.Errorf("got %v, want the reason %q", err, c.want)
			}
			if ok && c.want != "" && (late.Reached != Started || late.Snapshot.Answer(late.Member.ID).State != membership.Silent) {
				b.Errorf("got to %v, by %+v", late.Reached, late.Snapshot)
			}
		})
	}
	each(t, "and a failed one does not", "a", func(b *bench) {
		b.boot("d")
		taken := b.join(request("d", CaughtUp))
		time.AfterFunc(time.Minute, b.members["a"].Freeze)
		_, err := b.engine.Join(b.within(time.Minute+time.Second), request("e", Voting))
		late, ok := errors.AsType[*Incomplete](err)
		if m, _ := late.Snapshot.Member(taken.Member.ID); !ok || late.Decision.Code != membership.LearnerSlotTaken || m.Name != "d" {
			b.Errorf("got %v, want to have waited for the slot of %+v", err, m)
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
		b.join(request("d", Announced))
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
		"a learner that never started":            {"d", func(b *bench) { b.join(request("d", Announced)) }, true},
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
