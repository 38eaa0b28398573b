// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdsim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// foundSite is a cluster that was made without this provider. The state has its machines,
// and their user data is not managed.
func foundSite(t *testing.T, seed uint64, f func(s *site)) {
	t.Helper()
	simulate(t, seed, "a b c", func(w *world) {
		s := newSite(w)
		for _, p := range w.cluster.Processes() {
			s.fleet.adopt(p)
		}
		s.ws.Provider = w.provider("a b c")
		var machines []driver.Resource
		all := clusterOf("a b c", "one")
		for i, r := range all {
			if r.Type == "machine" {
				name := r.Values["name"]
				machines = append(machines, driver.Resource{Type: r.Type, Name: r.Name, Values: driver.Values{"name": name, "image": "one"}})
				delete(all[i].Values, "user_data")
				all[i].ReplacedBy = []driver.Ref{{Resource: "etcd_cluster.this", Attribute: fmt.Sprint("node.", name, ".id")}}
			}
		}
		s.ws.Resources = machines
		s.ok(s.up("machines"))
		s.ws.Resources = all
		f(s)
	})
}

func (s *site) take(address, id string) driver.Result {
	return s.ws.Import(s.Context(), s.start("import "+address), address, id)
}

// takeAll imports the cluster and its members.
func (s *site) takeAll(names string) {
	s.Helper()
	s.ok(s.take("etcd_cluster.this", s.clusterID()))
	for _, name := range strings.Fields(names) {
		s.ok(s.take(`etcd_member.node["`+name+`"]`, name))
	}
}

// clusterID is the ID of the cluster in hexadecimal.
func (w *world) clusterID() string {
	w.Helper()
	url := w.cluster.Processes()[0].ClientURL
	list, err := w.network.Run("test").As("root").Client(url, url).MemberList(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	return membership.ClusterID(list.Header.ClusterId).String()
}

// unchanged fails the test if f makes a call that changes the membership, or ends a
// process.
func (s *site) unchanged(what string, f func()) {
	s.Helper()
	end := s.watch(what)
	f()
	end()
}

// watch begins what [site.unchanged] does, and returns what ends it.
func (s *site) watch(what string) (end func()) {
	var calls []string
	before := s.network.Before
	s.network.Before = func(ctx context.Context, c etcdsim.Call) error {
		switch c.Request.(type) {
		case *pb.MemberAddRequest, *pb.MemberRemoveRequest, *pb.MemberUpdateRequest, *pb.MemberPromoteRequest:
			calls = append(calls, c.Run)
		}
		return before(ctx, c)
	}
	was := s.ids()
	return func() {
		s.Helper()
		s.network.Before = before
		if now := s.ids(); len(calls) > 0 || !equal(was, now) {
			s.Errorf("%s: calls %v, members %v, before %v", what, calls, now, was)
		}
	}
}

func equal(a, b map[string]uint64) bool {
	for name, id := range a {
		if b[name] != id {
			return false
		}
	}
	return len(a) == len(b)
}

// set gives the etcd_cluster an argument.
func (s *site) set(argument string, value any) { s.ws.Resources[0].Values[argument] = value }

func (s *site) up(what string, opts ...driver.Option) driver.Result {
	_, r := s.ws.Up(s.Context(), s.start(what), opts...)
	return r
}

// fails fails the test unless the result is an error with the words.
func (w *world) fails(what string, r driver.Result, words ...string) {
	w.Helper()
	for _, word := range words {
		if r.Err() == nil || !strings.Contains(r.Err().Error(), word) {
			w.Errorf("%s: got %v, want an error with %q", what, r.Err(), word)
		}
	}
}

// After the import the plan is empty and nothing was touched. A machine that is replaced
// alone is refused with the line to write, and that line rebuilds the node.
func TestImportCluster(t *testing.T) {
	t.Parallel()
	foundSite(t, 1, func(s *site) {
		machine := driver.Replace(`machine.node["b"]`)
		s.unchanged("import", func() {
			s.takeAll("a b c")
			s.fails("at once", s.up("at once", machine), "was imported")
			s.ok(s.up("after the import"))
		})
		s.empty("imported")
		s.unchanged("alone", func() { s.fails("alone", s.up("alone", machine), "was imported", `rebuild = { "b" = "1" }`) })
		s.set("version", "3.5.1")
		s.unchanged("first version", func() { s.fails("first version", s.up("another version"), "first version must be what runs") })
		s.set("version", string(release))
		s.ok(s.up("version"))
		s.empty("version")
		was := s.ids()
		s.set("rebuild", map[string]any{"b": "1"})
		s.ok(s.up("rebuild"))
		if now := s.ids(); now["b"] == was["b"] || now["a"] != was["a"] || now["c"] != was["c"] {
			t.Errorf("members %v, before %v", now, was)
		}
		s.empty("rebuilt")
		was = s.ids()
		s.ok(s.up("alone again", machine))
		if now := s.ids(); now["b"] == was["b"] {
			t.Error("a rebuilt node does not follow its machine")
		}
	})
}

// A state that lost the cluster, or its members, gets them back: the nodes have their IDs.
func TestImportWhatAStateLost(t *testing.T) {
	t.Parallel()
	simulate(t, 2, "", func(w *world) {
		s := newSite(w)
		s.apply("form", "a b c", "one", "a b c")
		s.ws.Provider = w.provider("a b c")
		for i, r := range s.ws.Resources {
			if r.Type == "machine" { // as with ignore_changes
				s.ws.Resources[i].Values["user_data"] = driver.Attribute(s.ws.State(r.Address()).Value, "user_data")
			}
		}
		s.ws.Forget(`etcd_member.node["b"]`)
		s.unchanged("member", func() {
			s.ok(s.take(`etcd_member.node["b"]`, "b"))
			s.ok(s.up("b again"))
		})
		s.empty("member")
		s.ws.Forget("etcd_cluster.this")
		s.unchanged("cluster", func() {
			s.fails("created again", s.up("created again"), "import {", "to = etcd_cluster.this", `to = etcd_member.node["a"]`, membership.MemberID(s.ids()["c"]).String())
			s.ok(s.take("etcd_cluster.this", s.clusterID()))
			s.ok(s.up("cluster again"))
		})
		s.empty("cluster")
	})
}

func TestImportIsRefused(t *testing.T) {
	t.Parallel()
	foundSite(t, 3, func(s *site) {
		s.fails("no ID", s.take("etcd_cluster.this", "a name"), "is not a cluster ID")
		s.fails("another cluster", s.take("etcd_cluster.this", "2a"), s.clusterID())
		s.ok(s.take("etcd_cluster.this", s.clusterID()))
		s.fails("twice", s.take("etcd_cluster.this", s.clusterID()), "in the state")
		s.ws.Forget("etcd_cluster.this")
		id := s.clusterID()
		for _, p := range s.cluster.Processes() {
			s.network.Cut("", p.ClientURL)
		}
		s.fails("silence", s.take("etcd_cluster.this", id), "no endpoint gave a member list")
		if left := s.ws.Addresses(); slices.Contains(left, "etcd_cluster.this") {
			t.Errorf("the state has %v", left)
		}
	})
}

// A member that the configuration does not have stays, and the plan says so. A name that
// the list does not have at the URLs of a member is refused.
func TestImportWithOtherNames(t *testing.T) {
	t.Parallel()
	foundSite(t, 4, func(s *site) {
		s.ok(s.take("etcd_cluster.this", s.clusterID()))
		all := s.ws.Resources
		s.ws.Resources = clusterOf("a b", "one")[:1]
		_, r := s.ws.Plan(s.Context(), s.start("without c"), driver.Target("etcd_cluster.this"))
		s.ok(r)
		said := slices.ContainsFunc(r.Diagnostics, func(d driver.Diagnostic) bool { return strings.Contains(d.Detail, "The cluster lists c (") })
		if !said {
			t.Errorf("the plan says %v", r.Diagnostics)
		}
		s.ws.Resources = all
		s.fails("as a learner", s.take("etcd_learner.c", "c"), "is a voting member")
		s.fails("not imported", s.up("members that are not imported"), "import {")
	})
}
