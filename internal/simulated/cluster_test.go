// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"strings"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
)

const thisCluster = "etcd_cluster.this"

// clusterOf is an etcd_cluster with a machine and an etcd_member for each of its nodes.
func clusterOf(names, image string) (out []driver.Resource) {
	wanted := driver.Values{}
	for _, name := range strings.Fields(names) {
		wanted[name] = driver.Values{"peer_urls": []any{"http://" + name + ".example:2380"}, "client_urls": []any{"http://" + name + ".example:2379"}}
	}
	out = append(out, driver.Resource{Type: "etcd_cluster", Name: "this", Values: driver.Values{
		"members": map[string]any(wanted), "revision": map[string]any{"image": image},
	}})
	const cluster = "etcd_cluster.this"
	for _, name := range strings.Fields(names) {
		node := "node." + name
		machine := driver.Resource{Type: "machine", Name: `node["` + name + `"]`, Values: driver.Values{
			"name": name, "image": driver.Ref{Resource: cluster, Attribute: node + ".revision.image"},
			"user_data": driver.JSON{Resource: cluster, Attribute: node + ".environment"},
		}}
		out = append(out, machine, driver.Resource{Type: "etcd_member", Name: `node["` + name + `"]`, Values: driver.Values{
			"config": driver.Ref{Resource: cluster, Attribute: node}, "machine_id": driver.Ref{Resource: machine.Address(), Attribute: "id"},
		}})
	}
	return out
}

// site is an etcd_cluster in a world, with its machines and members.
type site struct {
	*world
	ws    *driver.Workspace
	fleet *fleet
}

func newSite(w *world) *site {
	s := &site{world: w, ws: driver.New(w, driver.Values{}), fleet: newFleet(w)}
	s.ws.Machines = s.fleet
	return s
}

// try applies a configuration.
func (s *site) try(what, names, image string, opts ...driver.Option) driver.Result {
	s.Helper()
	s.ws.Resources = clusterOf(names, image)
	_, r := s.ws.Up(s.Context(), s.start(what), opts...)
	s.rest(30 * time.Second)
	return r
}

// apply applies a configuration, after which the cluster has these members.
func (s *site) apply(what, names, image, members string, opts ...driver.Option) {
	s.Helper()
	if r := s.try(what, names, image, opts...); r.Err() != nil {
		s.Fatalf("%s: %v", what, r.Err())
	}
	s.expect(what, s.list(), members)
}

// empty fails the test unless another plan changes nothing.
func (s *site) empty(what string) {
	s.Helper()
	if plan, r := s.ws.Plan(s.Context(), s.start(what)); r.Err() != nil || len(plan.Actions()) > 0 {
		s.Fatalf("%s: the plan is not empty: %v %v", what, r, plan)
	}
}

// ids are the IDs of the members, by name.
func (s *site) ids() map[string]uint64 {
	out := map[string]uint64{}
	for _, m := range s.cluster.Members() {
		out[m.Name] = m.ID
	}
	return out
}
