// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure_test

import (
	"errors"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// Initial members that each formed their own cluster are neither adopted nor
// joined, even while only one of them answers. The error names those that answer.
func TestFoundedAlone(t *testing.T) {
	t.Parallel()
	a := start(t, 1, etcdtest.Options{Names: []string{"a"}})
	b := start(t, 1, etcdtest.Options{Names: []string{"b"}})
	never := etcdtest.NewProcess(t, etcdtest.Options{Name: "c"})
	initial := func(p *etcdtest.Process, initial int) reconfigure.JoinRequest {
		r := request(p, reconfigure.Voting)
		r.Bootstrap, r.AwaitCluster, r.InitialMembers = membership.InitialMember, true, initial
		return r
	}
	joiner := initial(never, 2)
	joiner.Bootstrap = membership.LaterMember
	both := append(a.Endpoints(), b.Endpoints()...)
	for name, c := range map[string]struct {
		endpoints []string
		request   reconfigure.JoinRequest
		others    int
		waits     bool // for the others, to name them
	}{
		"one of two answers":                     {a.Endpoints(), initial(a.Member("a"), 2), 0, true},
		"two of three answer":                    {append(both, never.ClientURL()), initial(a.Member("a"), 3), 1, true},
		"all answer":                             {both, initial(b.Member("b"), 2), 1, false},
		"an initial member that does not answer": {a.Endpoints(), initial(never, 3), 0, true},
		"a joiner of the cluster to be":          {both, joiner, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := engineFor(t, etcdtest.Options{}, c.endpoints)
			paused := countPauses(e)
			_, err := e.Join(etcdtest.WaitContext(t), c.request)
			var not *reconfigure.Unidentified
			if !errors.As(err, &not) || not.Identity.Code != membership.FormedAlone || not.InitialMembers != c.request.InitialMembers || len(not.Snapshot.Others) != c.others {
				t.Fatalf("got %v", err)
			}
			if n := paused.since(); c.waits && n == 0 || !c.waits && n > few {
				t.Errorf("the refusal came after %d pauses", n)
			}
		})
	}
	t.Cleanup(func() {
		for _, one := range []*bench{a, b} {
			if m := one.members(t); len(m) != 1 {
				t.Errorf("%d members after refusals", len(m))
			}
			if got, ok, err := one.engine.Cluster.Records(one.id(t)).Get(etcdtest.WaitContext(t), "name:c"); ok || err != nil {
				t.Errorf("there is a record: %+v, %v", got, err)
			}
		}
	})
}
