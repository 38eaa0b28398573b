// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure_test

import (
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// turns returns the names of the replacements on record.
func (b *bench) turns(t *testing.T) []string {
	t.Helper()
	all, err := cluster.All(etcdtest.WaitContext(t), b.engine.Cluster.Turns(b.id(t)))
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
