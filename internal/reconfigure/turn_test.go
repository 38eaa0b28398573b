// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure_test

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// turns returns the names of the replacements on record.
func (b *bench) turns(t *testing.T) []string {
	t.Helper()
	all, err := b.engine.Cluster.Turns(b.id(t)).List(etcdtest.WaitContext(t))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, turn := range all {
		out = append(out, turn.Name)
	}
	return out
}

func (b *bench) replace(t *testing.T, name string) reconfigure.LeaveRequest {
	t.Helper()
	r := b.leaveRequest(t, name)
	r.Replacement = true
	return r
}

func mustBeTurnOf(t *testing.T, err error, name string) membership.Turn {
	t.Helper()
	var refusal *reconfigure.Refusal
	if !errors.As(err, &refusal) || refusal.Decision.Code != membership.TurnOfAnother || len(refusal.Decision.Facts.Turns) != 1 ||
		refusal.Decision.Facts.Turns[0].Name != name {
		t.Fatalf("got %v, want that it is the turn of %s", err, name)
	}
	return refusal.Decision.Facts.Turns[0]
}

// A replacement that one Terraform run left unfinished stops replacements in
// every other run until the successor votes. It does not stop a permanent
// removal or the removal of a failed member.
func TestTurnOutlivesItsRun(t *testing.T) {
	t.Parallel()
	for _, v := range etcdtest.Versions() {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			b := start(t, 3, etcdtest.Options{Version: v, Names: []string{"a", "b", "c"}})
			second := b.process(t, "bob@ops2", claim.LockTTL)
			c := b.replace(t, "c")
			if _, err := b.engine.Leave(etcdtest.WaitContext(t), c); err != nil {
				t.Fatal(err)
			}
			if got := b.turns(t); !slices.Equal(got, []string{"c"}) {
				t.Fatalf("on record: %v", got)
			}
			b.Member("c").PowerOff()

			r := b.replace(t, "b")
			_, err := second.Leave(etcdtest.WaitContext(t), r)
			if open := mustBeTurnOf(t, err, "c"); open.Voters != 3 || open.Since.IsZero() {
				t.Errorf("on record: %+v", open)
			}
			if m := b.members(t); len(m) != 2 {
				t.Fatalf("%d members", len(m))
			}

			// The successor joins in a third run, and then b may follow.
			third := b.process(t, "carol@ops3", claim.LockTTL)
			p := b.NewJoiner(t, "d")
			p.Env["ETCD_NAME"] = "c"
			go b.startAnnounced(t, p)
			join := request(p, reconfigure.Voting)
			join.Name = "c"
			if _, err := third.Join(etcdtest.WaitContext(t), join); err != nil {
				t.Fatal(err)
			}
			if _, err := second.Leave(etcdtest.WaitContext(t), r); err != nil {
				t.Fatal(err)
			}
			if got := b.turns(t); !slices.Equal(got, []string{"b"}) {
				t.Errorf("on record: %v", got)
			}
			if _, still := named(b.members(t), "b"); still {
				t.Error("b is still there")
			}

			// The others may be removed permanently, and the record with them.
			last := b.leaveRequest(t, "a")
			if _, err := b.engine.Leave(etcdtest.WaitContext(t), last); err != nil {
				t.Fatal(err)
			}
			if m := b.members(t); len(m) != 1 {
				t.Errorf("%d members", len(m))
			}
		})
	}
}

// After another member was added, a turn is over and does not come back when
// the cluster shrinks.
func TestTurnIsOverForGood(t *testing.T) {
	t.Parallel()
	b := start(t, 3, etcdtest.Options{Names: []string{"a", "b", "c"}})
	if _, err := b.engine.Leave(etcdtest.WaitContext(t), b.replace(t, "c")); err != nil {
		t.Fatal(err)
	}
	b.Member("c").PowerOff()
	d := b.NewJoiner(t, "d")
	go b.startAnnounced(t, d)
	if _, err := b.engine.Join(etcdtest.WaitContext(t), request(d, reconfigure.Voting)); err != nil {
		t.Fatal(err)
	}
	if got := b.turns(t); len(got) > 0 {
		t.Errorf("on record: %v", got)
	}
	if _, err := b.engine.Leave(etcdtest.WaitContext(t), b.leaveRequest(t, "d")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.engine.Leave(etcdtest.WaitContext(t), b.replace(t, "b")); err != nil {
		t.Error(err)
	}
}

// Of three replacements in one run, one removes its member. The others are refused
// without waiting for its successor, and their members stay.
func TestOneReplacementAtATime(t *testing.T) {
	t.Parallel()
	b := start(t, 3, etcdtest.Options{Names: []string{"a", "b", "c"}})
	names := []string{"a", "b", "c"}
	errs := make([]error, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		r := b.replace(t, name)
		wg.Go(func() { _, errs[i] = b.engine.Leave(etcdtest.WaitContext(t), r) })
	}
	wg.Wait()
	open := b.turns(t)
	if len(open) != 1 {
		t.Fatalf("on record: %v", open)
	}
	for i, name := range names {
		_, listed := named(b.members(t), name)
		switch {
		case name != open[0]:
			mustBeTurnOf(t, errs[i], open[0])
			if !listed {
				t.Errorf("%s is gone", name)
			}
		case errs[i] != nil || listed:
			t.Errorf("%s is listed: %v, error: %v", name, listed, errs[i])
		}
	}
}
