// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdsim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

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

// An initial member adopts no list entry that another owner has on record: the successor of a
// member that another run has replaced.
func TestAnInitialMemberOfAnother(t *testing.T) {
	simulate(t, "a", func(b *bench) {
		b.boot("d")
		b.join(request("d", Voting))
		before := request("d", Voting)
		before.Owner, before.Bootstrap = "initial-1", membership.InitialMember
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
