// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"fmt"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
)

// The members of a cluster whose machines set their URLs cannot be asked without endpoints
// of the provider. The plan says so, and advises no destroy.
func TestClusterWithoutAddresses(t *testing.T) {
	t.Parallel()
	simulate(t, 1, "", func(w *world) {
		ws := driver.New(w, driver.Values{}, driver.Resource{Type: "etcd_cluster", Name: "this", Values: driver.Values{
			"members": map[string]any{"a": driver.Values{}}, "revision": map[string]any{"image": "one"},
			"discovery": driver.Values{"size": 1, "complete": false, "environment": map[string]any{"ETCD_DISCOVERY_TOKEN": "t"}},
		}})
		_, r := ws.Up(w.Context(), w.start("form"))
		w.ok(r)
		ws.Resources[0].Values["revision"] = map[string]any{"image": "two"}
		_, r = ws.Plan(w.Context(), w.start("roll"))
		w.ok(r)
		if said := fmt.Sprint(r.Diagnostics); !strings.Contains(said, "set endpoints of the provider, or ETCDCTL_ENDPOINTS") || strings.Contains(said, "destroy") {
			t.Errorf("the plan says %s", said)
		}
	})
}

// A token is for the members of the first apply that are not learners. Until its members
// have registered, the cluster keeps it. Then no later change of the token or of its
// completion is a change of the cluster, and none forms another one.
func TestClusterOfAToken(t *testing.T) {
	t.Parallel()
	simulate(t, 1, "", func(w *world) {
		s := newSite(w)
		plan := func(names string, size int, token string, complete bool) (string, driver.Result) {
			members := map[string]any{}
			for _, name := range strings.Fields(names) {
				members[strings.Trim(name, "()")] = driver.Values{"learner": name[0] == '('}
			}
			s.ws.Resources = []driver.Resource{{Type: "etcd_cluster", Name: "this", Values: driver.Values{"members": members, "discovery": driver.Values{
				"size": size, "complete": complete, "environment": map[string]any{"ETCD_DISCOVERY_TOKEN": token},
			}}}}
			plan, r := s.ws.Plan(s.Context(), s.start("plan"))
			if plan != nil {
				s.ok(s.ws.Apply(s.Context(), s.start("apply"), plan))
			}
			return strings.Join(plan.Actions(), ""), r
		}
		refused := func(says, names string, size int, token string, complete bool) {
			_, r := plan(names, size, token, complete)
			s.fails(names, r, says)
		}
		does := func(want, names string, size int, token string, complete bool) {
			got, r := plan(names, size, token, complete)
			s.ok(r)
			s.expect(names, got, want)
		}
		const update = "update etcd_cluster.this"
		refused("forms a cluster of 3, and members has 2 that take part", "a b", 3, "t", false)
		refused("The token has formed a cluster", "a b c", 3, "t", true)
		does("create etcd_cluster.this", "a b c (d)", 3, "t", false)
		does(update, "a b c", 3, "t", false)
		refused("The discovery token changed too early", "a b c d", 4, "u", false)
		refused("The discovery token changed too early", "a b c", 3, "u", false)
		does("", "a b c", 3, "t", false)
		does("", "a b c", 3, "t", true)
		does(update, "a b c d", 3, "t", true)
	})
}

// Members that a state has lost are replaced with their machines: one in a plan.
func TestForgottenMembers(t *testing.T) {
	t.Parallel()
	simulate(t, 1, "", func(w *world) {
		s := newSite(w)
		s.apply("form", "a b c", "one", "a b c")
		s.ws.Forget(`etcd_member.node["a"]`)
		s.ws.Forget(`etcd_member.node["b"]`)
		s.fails("observed", s.try("observed", "a b c", "one", driver.Replace(`machine.node["a"]`), driver.Replace(`machine.node["b"]`)), "Only one living voter")
		s.apply("nothing is replaced", "a b c", "one", "a b c")
		s.empty("again in the state")
	})
	simulate(t, 2, "", func(w *world) {
		s := newSite(w)
		s.apply("form", "a b c", "one", "a b c")
		s.empty("formed")
		state := fmt.Sprint(s.ws.State(`etcd_member.node["a"]`).Value)
		s.ok(s.ws.Refresh(s.Context(), s.start("refresh")))
		s.empty("refreshed")
		if now := fmt.Sprint(s.ws.State(`etcd_member.node["a"]`).Value); now != state {
			t.Errorf("a refresh of the cluster changes the member: %s, before %s", now, state)
		}
		for _, name := range []string{"a", "b", "c"} {
			s.ws.Forget(`etcd_member.node["` + name + `"]`)
		}
		for _, p := range s.cluster.Processes() {
			s.network.Cut("", p.ClientURL)
		}
		s.fails("unobserved", s.try("unobserved", "a b c", "one", driver.Replace(`machine.node["a"]`), driver.Replace(`machine.node["b"]`)), "cannot be observed")
	})
}

// Members of an imported cluster that no resource manages are named by each plan, once an
// apply has left them so.
func TestMembersWithoutResources(t *testing.T) {
	t.Parallel()
	foundSite(t, 1, func(s *site) {
		says := func(what string, warns bool) {
			r := s.ws.Refresh(s.Context(), s.start(what))
			s.ok(r)
			if said := fmt.Sprint(r.Diagnostics); strings.Contains(said, "No resource manages some members") != warns {
				t.Errorf("%s says %s", what, said)
			}
		}
		s.takeAll("a b c")
		s.ok(s.up("after the import"))
		says("managed", false)
		for _, name := range []string{"a", "b", "c"} {
			s.ws.Forget(`etcd_member.node["` + name + `"]`)
		}
		s.ws.Forget("etcd_cluster.this")
		for _, key := range s.keys() {
			if _, err := s.client("a").Delete(s.Context(), key); err != nil {
				t.Fatal(err)
			}
		}
		s.ok(s.take("etcd_cluster.this", s.clusterID()))
		says("not managed", true)
	})
}

// Of two states that have one cluster, the one that imported it last changes its nodes.
// The other one is refused until it imports the cluster again. A record that cannot be
// read refuses nothing.
func TestTwoStatesOfOneCluster(t *testing.T) {
	t.Parallel()
	simulate(t, 1, "", func(w *world) {
		s := newSite(w)
		s.apply("form", "a b c", "one", "a b c")
		s.ws.Provider = w.provider("a b c")
		other := driver.New(w, w.provider("a b c"), clusterOf("a b c", "one")[0])
		w.ok(other.Import(w.Context(), w.start("import"), "etcd_cluster.this", s.clusterID()))
		recorded := func() (out []string) {
			for _, key := range w.keys() {
				if strings.HasSuffix(key, "/cluster") {
					out = append(out, key)
				}
			}
			return out
		}
		if keys := recorded(); len(keys) > 0 {
			t.Errorf("an import writes %s", keys)
		}
		_, r := other.Up(w.Context(), w.start("first update"))
		w.ok(r)
		id := func(ws *driver.Workspace) string { return driver.Attribute(ws.State("etcd_cluster.this").Value, "id") }
		for _, change := range []string{"a b c d", "a b"} {
			s.fails("change the names", s.try("change the names", change, "one"), "Another state changes this cluster")
		}
		s.fails("roll", s.try("roll", "a b c", "two"), "id "+id(other)+" on record")
		s.fails("roll", s.try("roll", "a b c", "two"), "This state has "+id(s.ws))
		s.apply("change no node", "a b c", "one", "a b c")

		s.ws.Forget("etcd_cluster.this")
		s.ok(s.take("etcd_cluster.this", s.clusterID()))
		s.ok(s.up("import again", driver.Target("etcd_cluster.this")))
		other.Resources = clusterOf("a b c", "two")[:1]
		_, r = other.Plan(w.Context(), w.start("other"))
		s.fails("the other one", r, "id "+id(s.ws)+" on record")
		for _, key := range recorded() {
			if _, err := w.client("a").Put(w.Context(), key, "x"); err != nil {
				t.Fatal(err)
			}
		}
		_, r = other.Plan(w.Context(), w.start("unreadable"))
		s.ok(r)
	})
}
