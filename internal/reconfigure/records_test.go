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

	"go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdsim"
)

// owned returns a request for d by one of several configurations.
func owned(owner string, goal Stage) JoinRequest {
	r := request("d", goal)
	r.Owner = owner
	return r
}

// abandon joins a member that does not start, until it is on record.
func (b *bench) abandon(who string, r JoinRequest) {
	b.Helper()
	_, err := b.process(who).Join(b.within(time.Minute), r)
	if late, ok := errors.AsType[*Incomplete](err); !ok || late.Member.ID == 0 {
		b.Fatalf("got %v, want a member that does not start", err)
	}
}

// A member that gets the name and the addresses of a removed member also replaces its record,
// which no other operation deletes if its configuration was removed from the state without a
// destroy. Another name or address means another member.
func TestTheRecordOfARemovedMemberEndsWithItsSuccessor(t *testing.T) {
	simulate(t, "a", func(b *bench) {
		for owner, m := range map[string][2]string{"first": {"d", "d"}, "named": {"e", "d"}, "placed": {"d", "x"}} {
			b.forge(cluster.Record{Owner: owner, Name: m[0], PeerURLs: []string{etcdsim.PeerURL(m[1])}, MemberID: "1d40a5c04518179a", State: cluster.Removed})
		}
		b.join(owned("second", Added))
		b.mustOwn("named placed second")
	})
}

// The next Terraform run adopts the member of an interrupted run. It has another
// configuration, because the first never got into a state: the same member, and one record.
func TestAnAbandonedAdditionIsTakenOver(t *testing.T) {
	intent := cluster.Record{Owner: "first", Name: "d", PeerURLs: []string{etcdsim.PeerURL("d")}, State: cluster.Intended, Awaited: true}
	for name, interrupted := range map[string]func(b *bench){
		"added": func(b *bench) { b.abandon("first@ops1", owned("first", Voting)) },
		"about to": func(b *bench) {
			b.forge(intent)
			_, err := b.process("first@ops1").Cluster.AddLearner(b.Context(), 0, intent.PeerURLs)
			b.ok(err)
		},
		"about to, in vain": func(b *bench) { b.forge(intent) },
	} {
		each(t, name, "a", func(b *bench) {
			interrupted(b)
			var was membership.MemberID
			for _, m := range b.observed().Learners() {
				was = m.ID
			}
			time.AfterFunc(5*time.Second, func() { b.boot("d") }) // one that has started is not adopted
			if got := b.join(owned("second", Voting)); was != 0 && got.Member.ID != was {
				b.Errorf("%s joined, and %s was added", got.Member.ID, was)
			}
			b.mustList("a d")
			b.mustOwn("second")
		})
	}
}

// A member is not adopted if another Terraform run works on it, if another run only added it
// and has it in its state, or if it runs.
func TestWhatIsNotAbandonedIsLeftAlone(t *testing.T) {
	each(t, "at work", "a", func(b *bench) {
		first := make(chan error, 1)
		go func() {
			_, err := b.process("first@ops1").Join(b.Context(), owned("first", Voting))
			first <- err
		}()
		time.Sleep(time.Second)
		_, err := b.engine.Join(b.within(time.Minute), owned("second", Voting))
		if busy, ok := errors.AsType[*claim.BusyError](err); !ok || busy.Holder.Who != "first@ops1" {
			b.Errorf("the second run: %v", err)
		}
		b.mustOwn("first")
		b.boot("d")
		b.ok(<-first)
	})
	for name, c := range map[string]struct {
		first func(b *bench)
		as    string
		code  membership.Code
		owner string
	}{
		"added for a state": {func(b *bench) { b.join(owned("first", Added)) }, "d", membership.AddedElsewhere, "first"},
		"adopted from a state": {func(b *bench) {
			r := owned("taker", Voting)
			r.ID = b.join(owned("first", Added)).Member.ID
			b.abandon("taker@ops1", r)
		}, "d", membership.AddedElsewhere, "first taker"},
		"started": {func(b *bench) {
			b.abandon("first@ops1", owned("first", Voting))
			b.boot("d")
			time.Sleep(time.Second)
		}, "d", membership.AlreadyMember, "first"},
		"for another name": {func(b *bench) { b.abandon("first@ops1", owned("first", Voting)) }, "e", membership.AddedElsewhere, "first"},
	} {
		each(t, name, "a", func(b *bench) {
			c.first(b)
			r := owned("second", Voting)
			r.Name = c.as
			_, err := b.engine.Join(b.Context(), r)
			b.mustNotIdentify("the second run", err, c.code)
			b.mustOwn(c.owner)
		})
	}
}

// A member always has one owner on record: the transaction that deletes the record of the
// former owner writes the new one. It may be repeated, as after a lost answer.
func TestRecordOwnerIsOneTransaction(t *testing.T) {
	simulate(t, "a", func(b *bench) {
		m := b.member("a")
		b.forge(recordFor("name:a", m))
		r := UpdateRequest{Owner: "config-of-a", Cluster: b.observed().ClusterID, ID: m.ID, Name: "a", PeerURLs: m.PeerURLs}
		revision := func() int64 {
			got, err := b.client().Get(b.Context(), "x")
			b.ok(err)
			return got.Header.Revision
		}
		for range 2 {
			before := revision()
			b.ok(b.engine.RecordOwner(b.Context(), "name:a", r))
			if n := revision() - before; n > 1 {
				b.Errorf("%d transactions", n)
			}
			b.mustOwn("config-of-a")
		}
	})
}

// mustBeAt fails the test unless the error quotes the value of the key and came at once.
func (b *bench) mustBeAt(what, key string, change func() error) {
	b.Helper()
	begin := time.Now()
	err := change()
	if bad, ok := errors.AsType[*cluster.Malformed](err); !ok || bad.Key != key {
		b.Errorf("%s: %v, want what stands at %s", what, err, key)
	}
	if took := time.Since(begin); took > healthInterval {
		b.Errorf("%s: only after %v", what, took)
	}
}

// An unreadable record ends every change of its owner at once, and stays. An unreadable turn
// ends replacements, but no removals.
func TestARecordThatCannotBeRead(t *testing.T) {
	const newer = `{"format":2,"owner":"name:d","name":"d","peer_urls":["http://127.0.0.1:1"],"state":"moved"}`
	simulate(t, "a b c", func(b *bench) {
		key, turn := b.put("members/name:d", newer), b.put("turns/z", `{"format":2}`)
		b.mustBeAt("join", key, func() error { _, err := b.engine.Join(b.Context(), request("d", Added)); return err })
		b.mustBeAt("clean up", key, func() error {
			_, err := b.engine.CleanUp(b.Context(), CleanUpRequest{Owner: "name:d", Name: "d"})
			return err
		})
		b.mustBeAt("own", key, func() error {
			return b.engine.RecordOwner(b.Context(), "x", UpdateRequest{Owner: "name:d", Cluster: b.observed().ClusterID, ID: 0x2a, Name: "d", PeerURLs: []string{etcdsim.PeerURL("d")}})
		})
		b.mustBeAt("a replacement", turn, func() error { _, err := b.engine.Remove(b.Context(), b.replacing("a")); return err })
		if got := b.value("members/name:d"); got != newer {
			b.Errorf("the record is %q", got)
		}
		b.mustList("a b c")
		b.leave(b.leaving("b"))
	})
}

// An unreadable record of another owner stops only the changes that it may concern: it may be
// about the same member, or claim a learner that another owner may have adopted.
func TestAnotherOwnersRecordThatCannotBeRead(t *testing.T) {
	simulate(t, "a", func(b *bench) {
		about := b.put("members/other", `{"format":2,"owner":"other","name":"d","peer_urls":["`+etcdsim.PeerURL("d")+`"],"state":"moved"}`)
		b.mustBeAt("a record about the same member", about, func() error {
			_, err := b.engine.Join(b.Context(), request("d", Added))
			return err
		})
		b.put("members/other", `{"format":2,"owner":"other","name":"e","peer_urls":["http://127.0.0.1:1"],"state":"moved"}`)
		joined := b.join(request("d", Added))
		r := b.leaving("d")
		r.Shared = true
		taken := b.put("members/other", `{"format":2,"member_id":"`+joined.Member.ID.String()+`"}`)
		b.mustBeAt("a record that may claim the learner", taken, func() error { _, err := b.engine.Remove(b.Context(), r); return err })
		b.mustList("(?) a")
		b.put("members/other", `{"format":2,"member_id":"2a"}`)
		b.leave(r)
		b.mustList("a")
	})
}

// Under an alarm no lock can be taken. A removal continues with a warning. An addition is
// refused, and so are an update and the replacement of another member than the corrupt one.
// Its successor is added once the alarm was disarmed.
func TestChangesUnderAnAlarm(t *testing.T) {
	for kind, alarm := range map[string]etcdserverpb.AlarmType{membership.AlarmNoSpace: etcdserverpb.AlarmType_NOSPACE, membership.AlarmCorrupt: etcdserverpb.AlarmType_CORRUPT} {
		each(t, kind, "a b c", func(b *bench) {
			bad, other := b.leaving("a"), b.replacing("b") // a leads: the harder case
			bad.Replacement = kind == membership.AlarmCorrupt
			set := func(do etcdserverpb.AlarmRequest_AlarmAction) {
				_, err := etcdserverpb.NewMaintenanceClient(b.net.Run("test").Conn(etcdsim.ClientURL("b"))).Alarm(b.Context(),
					&etcdserverpb.AlarmRequest{Action: do, MemberID: uint64(bad.ID), Alarm: alarm})
				b.ok(err)
			}
			set(etcdserverpb.AlarmRequest_ACTIVATE)
			_, err1 := b.engine.Join(b.Context(), request("d", Added))
			_, err2 := b.engine.Remove(b.Context(), other)
			for i, err := range []error{err1, err2, b.update(b.Context(), other, "x")} {
				b.mustRefuse("change "+string(rune('1'+i)), err, membership.AlarmRaised)
			}
			if left := b.leave(bad); len(left.Warnings) == 0 || left.Warnings[0].Code != membership.AlarmRaised || left.Warnings[0].Facts.Detail != kind {
				b.Errorf("removed with the warnings %+v", left.Warnings)
			}
			b.mustList("b c")
			_, err := b.engine.Join(b.Context(), request("d", Added))
			b.mustRefuse("the successor", err, membership.AlarmRaised)
			set(etcdserverpb.AlarmRequest_DEACTIVATE)
			b.join(request("d", Added))
		})
	}
}

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
