// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdsim"
)

// added is an etcd_member or etcd_learner that waits for nothing.
func added(typ, name, url string) driver.Resource {
	return driver.Resource{Type: typ, Name: name, Values: driver.Values{"name": name, "peer_urls": []any{url}, "wait_until": "announced"}}
}

// startLearner adds a learner by hand, and starts it.
func (w *world) startLearner(name string) (id string) {
	w.Helper()
	it, err := w.client("a").MemberAddAsLearner(w.Context(), []string{etcdsim.PeerURL(name)})
	w.must(err)
	w.members[name] = w.cluster.NewProcess(name, release)
	w.must(w.members[name].Start())
	w.rest(10 * time.Second)
	return fmt.Sprintf("%x", it.Member.ID)
}

// What a user is told of input that only the cluster can detect.
func TestBadInput(t *testing.T) {
	t.Parallel()
	slow := added("etcd_learner", "x", etcdsim.PeerURL("x"))
	slow.Values["timeouts"] = driver.Values{"create": "5 minutes"}
	for name, c := range map[string]struct {
		endpoints string
		resource  driver.Resource
		says      []string
	}{
		"name of another":                   {"a", added("etcd_member", "a", etcdsim.PeerURL("x")), []string{"Cannot add member a", "a (ID)"}},
		"peer URL of another":               {"a", added("etcd_member", "x", etcdsim.PeerURL("a")), []string{"This plan would endanger the cluster", "import {"}},
		"endpoints at which nobody listens": {"x", added("etcd_member", "x", etcdsim.PeerURL("x")), []string{"Cannot add member x", "connection refused"}},
		"endpoint of a learner":             {"l", added("etcd_member", "x", etcdsim.PeerURL("x")), []string{"Cannot add member x", etcdsim.ClientURL("l") + ": endpoint is a learner"}},
		"no endpoints":                      {"", added("etcd_member", "x", etcdsim.PeerURL("x")), []string{"No etcd endpoints", "ETCDCTL_ENDPOINTS"}},
		"a name for no machine":             {"a", added("etcd_member", "new(2)", etcdsim.PeerURL("x")), []string{"Invalid member name", "new(2)"}},
		"a timeout that does not parse":     {"a", slow, []string{"Invalid duration", "timeouts.create is \"5 minutes\""}},
		"a cluster that runs":               {"a", clusterOf("a", "one")[0], []string{"A cluster runs at these addresses", "CLUSTER"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			simulate(t, 1, "a", func(w *world) {
				w.startLearner("l")
				s, provider := newSite(w), driver.Values{}
				if c.endpoints != "" {
					provider = w.provider(c.endpoints)
				}
				s.ws = driver.New(w, provider, c.resource)
				said := strings.NewReplacer("CLUSTER", s.clusterID(), "ID", fmt.Sprintf("%x", w.members["a"].ID()))
				for _, words := range c.says {
					s.fails(name, s.up("apply"), said.Replace(words))
				}
				w.expect("members", w.list(), "(l) a")
			})
		})
	}
}

// If the endpoints lead to another cluster than the one in state, nothing is changed or
// added there. A plan and, with one statement, a destroy are possible.
func TestOtherCluster(t *testing.T) {
	t.Parallel()
	simulate(t, 1, "a", func(w *world) {
		s := newSite(w)
		s.ws = driver.New(w, w.provider("a"), added("etcd_learner", "x", etcdsim.PeerURL("x")))
		s.ok(s.up("add"))
		was := driver.Attribute(s.ws.State("etcd_learner.x").Value, "cluster_id")
		second := s.network.Form(release, "b")
		s.rest(10 * time.Second)
		s.ws.Provider = w.provider("b")
		plan, r := s.ws.Plan(s.Context(), s.start("plan"))
		s.ok(r)
		s.says("plan", r, "The endpoints lead to another cluster")
		s.expect("plan", plan.Actions(), "[]")
		s.ws.Resources = append(s.ws.Resources, added("etcd_learner", "y", etcdsim.PeerURL("y")))
		s.fails("stray", s.up("stray"), "This plan would endanger the cluster", "It adds y to the cluster that the provider's endpoints reach")
		s.ws.Resources = s.ws.Resources[:1]
		other := fmt.Sprintf("%x", s.strangers(second.Processes()[0]))
		s.fails("destroy", s.up("destroy", driver.NoRefresh, driver.Destroy), "Cannot remove member x", other, "terraform destroy -refresh=false")

		s.ws.Provider = w.provider("a")
		s.empty("back")
		s.ws.Provider, s.env["ETCD_CLUSTER_LOST"] = w.provider("b"), was+":x"
		r = s.up("forget", driver.NoRefresh, driver.Destroy)
		s.ok(r)
		s.says("forget", r, "Member x was forgotten, not removed")
		s.expect("state", s.ws.Addresses(), "[]")
		s.expect("members of the first", s.list(), "("+etcdsim.PeerURL("x")+") a")
		s.expect("members of the second", len(second.Members()), 1)
	})
}
