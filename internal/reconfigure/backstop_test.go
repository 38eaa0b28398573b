// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// forge writes a record under an owner's key, as any user with write permission
// can.
func (b *bench) forge(t *testing.T, owner string, r cluster.Record) {
	t.Helper()
	value, err := json.Marshal(struct {
		Format int `json:"format"`
		cluster.Record
	}{1, r})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Client(t).Put(etcdtest.WaitContext(t), b.key(t, "members/"+owner), string(value)); err != nil {
		t.Fatal(err)
	}
}

// record returns a correct record of a member.
func record(owner string, m membership.Member) cluster.Record {
	return cluster.Record{Owner: owner, Name: m.Name, PeerURLs: m.PeerURLs, MemberID: m.ID.String(), State: cluster.Announced}
}

// mustHave fails the test unless the member and the record exist, or do not, as
// expected.
func (b *bench) mustHave(t *testing.T, id membership.MemberID, member bool, owner string, kept bool) {
	t.Helper()
	found := false
	for _, m := range b.members(t) {
		found = found || m.ID == id
	}
	if found != member {
		t.Errorf("the member is listed: %t, want %t", found, member)
	}
	if _, ok, err := b.engine.Cluster.Records(b.id(t)).Get(etcdtest.WaitContext(t), owner); err != nil || ok != kept {
		t.Errorf("the record is there: %t (%v), want %t", ok, err, kept)
	}
}

func mustWarn(t *testing.T, out reconfigure.Withdrawn, want membership.Code) {
	t.Helper()
	if len(out.Warnings) != 1 || out.Warnings[0].Code != want {
		t.Errorf("the warnings are %+v, want %q", out.Warnings, want)
	}
}

// A living voter is not removed with its configuration: it stays if the configuration is
// destroyed permanently, and Withdraw waits for its end if another configuration follows.
func TestWithdrawNoVoterThatLives(t *testing.T) {
	t.Parallel()
	b := start(t, 3, etcdtest.Options{})
	victim := b.Members()[2]
	m, _ := named(b.members(t), victim.Name)
	r := reconfigure.WithdrawRequest{Owner: "founder3-1", Name: m.Name, PeerURLs: m.PeerURLs}
	b.forge(t, r.Owner, record(r.Owner, m))

	out, err := b.engine.Withdraw(etcdtest.WaitContext(t), r)
	if err != nil {
		t.Fatal(err)
	}
	mustWarn(t, out, membership.Unmanaged)
	b.mustHave(t, m.ID, true, r.Owner, false)

	b.forge(t, r.Owner, record(r.Owner, m))
	r.Replacement = true
	_ = runOut(t, func(err error) bool {
		refused, ok := errors.AsType[*reconfigure.Refusal](err)
		return ok && refused.Decision.Code == membership.VoterLives && refused.Timeout
	}, func(ctx context.Context) error { _, err := b.engine.Withdraw(ctx, r); return err })
	b.mustHave(t, m.ID, true, r.Owner, true)

	time.AfterFunc(2*time.Second, victim.Kill)
	if _, err := b.engine.Withdraw(etcdtest.WaitContext(t), r); err != nil {
		t.Fatalf("after its end: %v", err)
	}
	if victim.Running() {
		t.Error("it was removed while it lived")
	}
	b.mustHave(t, m.ID, false, r.Owner, false)
}

// The voter that has just ended may be the leader: the others elect another,
// and then it is removed. (A failed voter is also removed permanently.)
func TestWithdrawTheLeaderThatEnded(t *testing.T) {
	t.Parallel()
	b := start(t, 3, etcdtest.Options{})
	leader := b.Leader(t)
	m, _ := named(b.members(t), leader.Name)
	r := reconfigure.WithdrawRequest{Owner: "founder3-1", Name: m.Name} // dynamic addresses
	b.forge(t, r.Owner, record(r.Owner, m))
	leader.Kill()
	out, err := b.engine.Withdraw(etcdtest.WaitContext(t), r)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range out.Warnings {
		if w.Code == membership.Unmanaged {
			t.Errorf("it was left: %+v", w)
		}
	}
	b.mustHave(t, m.ID, false, r.Owner, false)
}

// A voter that never ran is removed: no process is at its address.
func TestWithdrawAVoterThatNeverRan(t *testing.T) {
	t.Parallel()
	for _, v := range etcdtest.Maintained() {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			b := start(t, 3, etcdtest.Options{Version: v})
			urls := []string{b.NewJoiner(t, "d").PeerURL()}
			time.Sleep(5500 * time.Millisecond) // etcd's own health interval
			added, err := b.Client(t).MemberAdd(etcdtest.WaitContext(t), urls)
			if err != nil {
				t.Fatal(err)
			}
			id := membership.MemberID(added.Member.ID)
			r := reconfigure.WithdrawRequest{Owner: "founder3-1", Name: "d", PeerURLs: urls, Replacement: true}
			b.forge(t, r.Owner, cluster.Record{Owner: r.Owner, Name: "d", PeerURLs: urls, MemberID: id.String(), State: cluster.Announced})
			if _, err := b.engine.Withdraw(etcdtest.WaitContext(t), r); err != nil {
				t.Fatal(err)
			}
			b.mustHave(t, id, false, r.Owner, false)
		})
	}
}

// A record is only a hint. A forged or stale record removes no member, whatever
// it has in common with a correct one: d is a learner that another user added
// and that has not started, the easiest to lose; c is a failed voter.
func TestForgedRecordsRemoveNothing(t *testing.T) {
	t.Parallel()
	b := start(t, 3, etcdtest.Options{})
	c, _ := named(b.members(t), "infra3")
	joined, err := b.engine.Join(etcdtest.WaitContext(t), request(b.NewJoiner(t, "d"), reconfigure.Announced))
	if err != nil {
		t.Fatal(err)
	}
	urls := joined.Member.PeerURLs
	d := membership.Member{ID: joined.Member.ID, Name: "d", PeerURLs: urls}
	b.Member("infra3").Kill()
	own := []string{"http://10.0.0.77:2380"}
	const owner = "joiner-1"
	config := reconfigure.WithdrawRequest{Owner: owner, Name: "z", PeerURLs: own}
	dynamic := reconfigure.WithdrawRequest{Owner: owner, Name: "z"}
	change := func(r cluster.Record, f func(*cluster.Record)) cluster.Record { f(&r); return r }
	for _, test := range []struct {
		name   string
		config reconfigure.WithdrawRequest
		record cluster.Record
	}{
		{"the learner's, as it is", config, record(owner, d)},
		{"the learner's, under our name", config, change(record(owner, d), func(r *cluster.Record) { r.Name = "z" })},
		{"the learner's ID, under our URLs", config, change(record(owner, d), func(r *cluster.Record) { r.Name, r.PeerURLs = "z", own })},
		{"the learner's ID, under our URLs, of dynamic addresses", dynamic, change(record(owner, d), func(r *cluster.Record) { r.Name, r.PeerURLs = "z", own })},
		{"the learner's, of dynamic addresses", dynamic, record(owner, d)},
		{"the intent of the learner's", config, change(record(owner, d), func(r *cluster.Record) { r.MemberID, r.State = "", cluster.Intended })},
		{"the dead voter's, as it is", config, record(owner, c)},
		{"the dead voter's, under our name", config, change(record(owner, c), func(r *cluster.Record) { r.Name = "z" })},
		{"the dead voter's, under our name, of dynamic addresses", dynamic, change(record(owner, c), func(r *cluster.Record) { r.Name = "z" })},
		{"the dead voter's ID, under our URLs", config, change(record(owner, c), func(r *cluster.Record) { r.Name, r.PeerURLs = "z", own })},
		{"the intent of the dead voter", reconfigure.WithdrawRequest{Owner: owner, Name: "infra3", PeerURLs: c.PeerURLs},
			change(record(owner, c), func(r *cluster.Record) { r.MemberID, r.State = "", cluster.Intended })},
	} {
		for _, replacement := range []bool{false, true} {
			b.forge(t, owner, test.record)
			r := test.config
			r.Replacement = replacement
			out, err := b.engine.Withdraw(etcdtest.WaitContext(t), r)
			if err != nil {
				t.Errorf("%s: %v", test.name, err)
			}
			if len(out.Warnings) != 1 || out.Warnings[0].Code != membership.RecordDisagrees {
				t.Errorf("%s: the warnings are %+v", test.name, out.Warnings)
			}
			b.mustHave(t, d.ID, true, owner, false)
			b.mustHave(t, c.ID, true, owner, false)
		}
	}

	// A stale record: its member was removed, and another member has its URLs now.
	stale := record(owner, d)
	stale.MemberID = "77"
	b.forge(t, owner, stale)
	out, err := b.engine.Withdraw(etcdtest.WaitContext(t), reconfigure.WithdrawRequest{Owner: owner, Name: "d", PeerURLs: urls})
	if err != nil || len(out.Warnings) > 0 {
		t.Errorf("stale: %+v, %v", out.Warnings, err)
	}
	b.mustHave(t, d.ID, true, owner, false)

	// The correct record removes it.
	b.forge(t, owner, record(owner, d))
	if _, err := b.engine.Withdraw(etcdtest.WaitContext(t), reconfigure.WithdrawRequest{Owner: owner, Name: "d", PeerURLs: urls}); err != nil {
		t.Fatal(err)
	}
	b.mustHave(t, d.ID, false, owner, false)
}
