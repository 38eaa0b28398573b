// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"context"
	"encoding/json"
	"errors"
	"path"
	"slices"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdsim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// forge writes a record under its owner's key, as any user with write permission can.
func (b *bench) forge(r cluster.Record) {
	b.Helper()
	value, err := json.Marshal(struct {
		Format int `json:"format"`
		cluster.Record
	}{1, r})
	b.ok(err)
	b.put("members/"+r.Owner, string(value))
}

// recordFor returns a correct record of a member.
func recordFor(owner string, m membership.Member) cluster.Record {
	return cluster.Record{Owner: owner, Name: m.Name, PeerURLs: m.PeerURLs, MemberID: m.ID.String(), State: cluster.Added}
}

// cleanUp cleans up, which must succeed with this warning, or with none.
func (b *bench) cleanUp(r CleanUpRequest, warning membership.Code) {
	b.Helper()
	out, err := b.engine.CleanUp(b.Context(), r)
	b.ok(err)
	var got membership.Code
	for _, w := range out.Warnings {
		got += w.Code
	}
	if got != warning {
		b.Errorf("the warnings are %+v, want %q", out.Warnings, warning)
	}
}

// A living voter stays if its configuration is destroyed permanently. If another configuration
// follows, CleanUp waits for its end.
func TestCleanUpNoVoterThatLives(t *testing.T) {
	simulate(t, "a b c", func(b *bench) {
		m := b.member("c")
		r := CleanUpRequest{Owner: "initial3-1", Name: "c", PeerURLs: m.PeerURLs}
		b.forge(recordFor(r.Owner, m))
		b.cleanUp(r, membership.Unmanaged)
		b.mustOwn("")

		b.forge(recordFor(r.Owner, m))
		r.Replacement = true
		_, err := b.engine.CleanUp(b.Context(), r)
		b.mustRefuse("while it lives", err, membership.VoterLives)
		b.mustOwn(r.Owner)
		end := time.Now().Add(time.Minute)
		time.AfterFunc(time.Minute, b.members["c"].PowerOff)
		b.cleanUp(r, "")
		if time.Now().Before(end) {
			b.Error("it was removed while it lived")
		}
		b.mustList("a b")
		b.mustOwn("")
	})
}

// The voter that has just ended may be the leader: the others elect another, and then it is
// removed. One that is about to end is removed too: an observation may take longer than a
// refusal must hold.
func TestCleanUpAVoterThatEnds(t *testing.T) {
	for name, c := range map[string]struct {
		member string
		after  time.Duration
		takes  time.Duration
	}{"the leader": {"a", 0, 0}, "soon": {"c", 8 * time.Second, healthInterval + time.Second/10}} {
		each(t, name, "a b c", func(b *bench) {
			m := b.member(c.member)
			r := CleanUpRequest{Owner: "initial3-1", Name: m.Name} // dynamic addresses
			b.forge(recordFor(r.Owner, m))
			b.engine.Cluster = slow{b.engine.Cluster, c.takes}
			time.AfterFunc(c.after, b.members[c.member].PowerOff)
			out, err := b.engine.CleanUp(b.Context(), r)
			b.ok(err)
			for _, w := range out.Warnings {
				if w.Code == membership.Unmanaged {
					b.Errorf("it was left: %+v", w)
				}
			}
			if n := len(b.observed().Members); n != 2 {
				b.Errorf("%d members", n)
			}
			b.mustOwn("")
		})
	}
}

// slow is a cluster whose observations take time.
type slow struct {
	cluster.Cluster
	takes time.Duration
}

func (s slow) Observe(ctx context.Context, want membership.ClusterID) (membership.Snapshot, error) {
	time.Sleep(s.takes)
	return s.Cluster.Observe(ctx, want)
}

// A record is only a hint: what is wrong about one is in [membership.DecideCleanUp]. A forged
// one removes neither d, a learner that another user added and that has not started, nor c, a
// failed voter. A stale one is deleted, and the correct one removes its member.
func TestForgedRecordsRemoveNothing(t *testing.T) {
	simulate(t, "a b c", func(b *bench) {
		c, d := b.member("c"), b.join(request("d", Added)).Member
		d.Name = "d"
		b.members["c"].PowerOff()
		const owner = "joiner-1"
		for _, m := range []membership.Member{c, d} {
			b.forge(recordFor(owner, m))
			b.cleanUp(CleanUpRequest{Owner: owner, Name: "z", PeerURLs: []string{"http://10.0.0.77:2380"}}, membership.RecordDisagrees)
			b.mustOwn("name:d")
		}
		ours, stale := CleanUpRequest{Owner: owner, Name: "d", PeerURLs: d.PeerURLs}, recordFor(owner, d)
		stale.MemberID = "77" // its member was removed, and another member has its URLs now
		b.forge(stale)
		b.cleanUp(ours, "")
		b.mustOwn("name:d")
		b.cleanUp(ours, "") // without a record
		b.mustList("(?) a b c")
		b.forge(recordFor(owner, d))
		b.cleanUp(ours, "")
		b.mustList("a b c")
	})
}

// A Terraform run was interrupted after it sent the request to add a member and before it
// received the answer. Its record must not be deleted too early: the member would have no
// owner. The request arrives with the next write, and taking the lock is one.
func TestCleanUpLate(t *testing.T) {
	d := etcdsim.PeerURL("d")
	intent := cluster.Record{Owner: "o", Name: "d", PeerURLs: []string{d}, State: cluster.Intended}
	for name, c := range map[string]struct {
		before, late bool // the member is in the list
		known        bool // the record has its ID
		blind        time.Duration
		fails        bool
	}{
		"it arrives":                   {late: true},
		"it never does":                {},
		"it has arrived":               {before: true},
		"it left long ago":             {known: true},
		"an old list does not show it": {before: true, known: true, blind: 3 * time.Second},
		"only old lists are to be had": {before: true, known: true, blind: time.Hour, fails: true},
	} {
		each(t, name, "a b c", func(b *bench) {
			record := intent
			add := func() {
				id, err := b.process("test").Cluster.AddLearner(b.Context(), 0, []string{d})
				b.ok(err)
				if c.known {
					record.State, record.MemberID = cluster.Added, id.String()
				}
			}
			if c.before {
				add()
			} else if c.known {
				record.State, record.MemberID = cluster.Added, "2a"
			}
			b.forge(record)
			late := c.late
			b.each = func(call etcdsim.Call) error {
				if late && slices.Contains([]string{"LeaseGrant", "Put", "Txn", "DeleteRange"}, path.Base(call.Method)) {
					late = false
					add()
				}
				return nil
			}
			if c.blind > 0 {
				b.alter(time.Now().Add(c.blind), func(s *membership.Snapshot) { s.Linearizable, s.Members = false, s.Voters() })
			}
			_, err := b.engine.CleanUp(b.Context(), CleanUpRequest{Owner: "o", Name: "d", PeerURLs: []string{d}})
			if c.fails {
				b.mustRefuse("the clean-up", err, membership.ListMoved)
				b.mustOwn("o")
				b.mustList("(?) a b c")
			} else {
				b.ok(err)
				b.mustOwn("")
				b.mustList("a b c")
			}
		})
	}
}

// If an operator interrupts the deletion of the record of a removed member, the next Terraform
// run, which did not see the removal, deletes it.
func TestTheRecordGoesWithItsConfiguration(t *testing.T) {
	simulate(t, "a b c", func(b *bench) {
		b.join(request("d", Added))
		r := b.leaving("d")
		r.KeepRecord = true
		b.leave(r)
		w := CleanUpRequest{Owner: r.Owner, Name: r.Name, PeerURLs: r.PeerURLs}
		ctx, interrupt := context.WithCancel(b.Context())
		interrupt()
		if _, err := b.engine.CleanUp(ctx, w); !errors.Is(err, context.Canceled) {
			b.Errorf("interrupted: %v", err)
		}
		b.mustOwn(r.Owner)
		_, err := b.process("next").CleanUp(b.Context(), w)
		b.ok(err)
		b.mustOwn("")
	})
}
