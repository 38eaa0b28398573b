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

// forge writes a record under an owner's key, as any user with write permission can.
func (b *bench) forge(owner string, r cluster.Record) {
	b.Helper()
	value, err := json.Marshal(struct {
		Format int `json:"format"`
		cluster.Record
	}{1, r})
	b.ok(err)
	b.put("members/"+owner, string(value))
}

// recordFor returns a correct record of a member.
func recordFor(owner string, m membership.Member) cluster.Record {
	return cluster.Record{Owner: owner, Name: m.Name, PeerURLs: m.PeerURLs, MemberID: m.ID.String(), State: cluster.Announced}
}

// withdraw withdraws, which must succeed with this warning, or with none.
func (b *bench) withdraw(r WithdrawRequest, warning membership.Code) {
	b.Helper()
	out, err := b.engine.Withdraw(b.Context(), r)
	b.ok(err)
	var got membership.Code
	for _, w := range out.Warnings {
		got += w.Code
	}
	if got != warning {
		b.Errorf("the warnings are %+v, want %q", out.Warnings, warning)
	}
}

// A living voter is not removed with its configuration. It stays if the configuration is
// destroyed permanently. If another configuration follows, Withdraw waits for its end.
func TestWithdrawNoVoterThatLives(t *testing.T) {
	simulate(t, "a b c", func(b *bench) {
		m := b.member("c")
		r := WithdrawRequest{Owner: "initial3-1", Name: "c", PeerURLs: m.PeerURLs}
		b.forge(r.Owner, recordFor(r.Owner, m))
		b.withdraw(r, membership.Unmanaged)
		b.mustOwn("")

		b.forge(r.Owner, recordFor(r.Owner, m))
		r.Replacement = true
		_, err := b.engine.Withdraw(b.Context(), r)
		b.mustRefuse("while it lives", err, membership.VoterLives)
		if refused, ok := errors.AsType[*Refusal](err); ok && !refused.Timeout {
			b.Errorf("it did not wait: %v", err)
		}
		b.mustList("a b c")
		b.mustOwn(r.Owner)

		end := time.Now().Add(time.Minute)
		time.AfterFunc(time.Minute, b.members["c"].PowerOff)
		b.withdraw(r, "")
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
func TestWithdrawAVoterThatEnds(t *testing.T) {
	for name, c := range map[string]struct {
		member string
		after  time.Duration
		takes  time.Duration
	}{"the leader": {"a", 0, 0}, "soon": {"c", 8 * time.Second, healthInterval + time.Second/10}} {
		each(t, name, "a b c", func(b *bench) {
			m := b.member(c.member)
			r := WithdrawRequest{Owner: "initial3-1", Name: m.Name} // dynamic addresses
			b.forge(r.Owner, recordFor(r.Owner, m))
			b.engine.Cluster = slow{b.engine.Cluster, c.takes}
			time.AfterFunc(c.after, b.members[c.member].PowerOff)
			out, err := b.engine.Withdraw(b.Context(), r)
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

// A record is only a hint. A forged or stale record removes no member, whatever it has in
// common with a correct one: d is a learner that another user added and that has not started,
// the easiest to lose; c is a failed voter.
func TestForgedRecordsRemoveNothing(t *testing.T) {
	simulate(t, "a b c", func(b *bench) {
		c := b.member("c")
		joined := b.join(request("d", Announced))
		urls := joined.Member.PeerURLs
		d := membership.Member{ID: joined.Member.ID, Name: "d", PeerURLs: urls}
		b.members["c"].PowerOff()
		own := []string{"http://10.0.0.77:2380"}
		const owner = "joiner-1"
		config := WithdrawRequest{Owner: owner, Name: "z", PeerURLs: own}
		dynamic := WithdrawRequest{Owner: owner, Name: "z"}
		change := func(r cluster.Record, f func(*cluster.Record)) cluster.Record { f(&r); return r }
		renamed := func(r *cluster.Record) { r.Name = "z" }
		moved := func(r *cluster.Record) { r.Name, r.PeerURLs = "z", own }
		intended := func(r *cluster.Record) { r.MemberID, r.State = "", cluster.Intended }
		for _, test := range []struct {
			name   string
			config WithdrawRequest
			record cluster.Record
		}{
			{"the learner's, as it is", config, recordFor(owner, d)},
			{"the learner's, under our name", config, change(recordFor(owner, d), renamed)},
			{"the learner's ID, under our URLs", config, change(recordFor(owner, d), moved)},
			{"the learner's ID, under our URLs, of dynamic addresses", dynamic, change(recordFor(owner, d), moved)},
			{"the learner's, of dynamic addresses", dynamic, recordFor(owner, d)},
			{"the intent of the learner's", config, change(recordFor(owner, d), intended)},
			{"the dead voter's, as it is", config, recordFor(owner, c)},
			{"the dead voter's, under our name", config, change(recordFor(owner, c), renamed)},
			{"the dead voter's, under our name, of dynamic addresses", dynamic, change(recordFor(owner, c), renamed)},
			{"the dead voter's ID, under our URLs", config, change(recordFor(owner, c), moved)},
			{"the intent of the dead voter", WithdrawRequest{Owner: owner, Name: "c", PeerURLs: c.PeerURLs}, change(recordFor(owner, c), intended)},
		} {
			for _, replacement := range []bool{false, true} {
				b.forge(owner, test.record)
				r := test.config
				r.Replacement = replacement
				out, err := b.engine.Withdraw(b.Context(), r)
				if err != nil || len(out.Warnings) != 1 || out.Warnings[0].Code != membership.RecordDisagrees {
					b.Errorf("%s: %+v, %v", test.name, out.Warnings, err)
				}
				b.mustList("(?) a b c")
				b.mustOwn("name:d")
			}
		}

		// A stale record: its member was removed, and another member has its URLs now.
		stale := recordFor(owner, d)
		stale.MemberID = "77"
		b.forge(owner, stale)
		real := WithdrawRequest{Owner: owner, Name: "d", PeerURLs: urls}
		b.withdraw(real, "")
		b.mustList("(?) a b c")
		b.mustOwn("name:d")
		// There is no record, and then the correct one.
		b.withdraw(real, "")
		b.mustList("(?) a b c")
		b.forge(owner, recordFor(owner, d))
		b.withdraw(real, "")
		b.mustList("a b c")
	})
}

// A Terraform run was interrupted after it sent the request to add a member and before it
// received the answer. Its record must not be deleted too early: the member would have no
// owner. The request arrives with the next write, and taking the lock is one.
func TestWithdrawLate(t *testing.T) {
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
					record.State, record.MemberID = cluster.Announced, id.String()
				}
			}
			if c.before {
				add()
			} else if c.known {
				record.State, record.MemberID = cluster.Announced, "2a"
			}
			b.forge("o", record)
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
			_, err := b.engine.Withdraw(b.Context(), WithdrawRequest{Owner: "o", Name: "d", PeerURLs: []string{d}})
			if c.fails {
				b.mustRefuse("the withdrawal", err, membership.ListMoved)
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

// The record of a removed member is deleted with its configuration, even if the member that is
// asked first stands still. If an operator interrupts that, the next Terraform run, which did
// not see the removal, deletes it.
func TestTheRecordGoesWithItsConfiguration(t *testing.T) {
	simulate(t, "a b c", func(b *bench) {
		b.join(request("d", Announced))
		r := b.leaving("d")
		r.KeepRecord = true
		b.leave(r)
		b.mustOwn(r.Owner)
		w := WithdrawRequest{Owner: r.Owner, Name: r.Name, PeerURLs: r.PeerURLs}
		ctx, interrupt := context.WithCancel(b.Context())
		interrupt()
		if _, err := b.engine.Withdraw(ctx, w); !errors.Is(err, context.Canceled) {
			b.Errorf("interrupted: %v", err)
		}
		b.members["b"].Freeze()
		for _, e := range []*Engine{b.engine, b.process("next")} {
			b.forge(r.Owner, cluster.Record{Owner: r.Owner, Name: "d", PeerURLs: r.PeerURLs, MemberID: r.ID.String(), State: cluster.Removed})
			_, err := e.Withdraw(b.Context(), w)
			b.ok(err)
			b.mustOwn("")
		}
	})
}

// A cluster whose last voter was forgotten is not asked again.
func TestNoFarewellToAClusterThatIsOver(t *testing.T) {
	simulate(t, "a", func(b *bench) {
		r := b.leaving("a")
		r.KeepRecord = true
		if left := b.leave(r); !left.LastVoter {
			b.Fatalf("%+v", left)
		}
		b.engine.Cluster = nil // a request would panic
		b.withdraw(WithdrawRequest{Owner: r.Owner, Name: r.Name, PeerURLs: r.PeerURLs}, "")
	})
}
