// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdsim"
)

const learnerD = `etcd_learner.node["d"]`

// standby applies a cluster with d as a learner that has these arguments.
func (s *site) standby(arguments driver.Values) (*driver.Plan, driver.Result) {
	s.Helper()
	s.ws.Resources = clusterOf("a b c d", "one")
	wanted, _ := s.ws.Resources[0].Values["members"].(map[string]any)
	d, ok := wanted["d"].(driver.Values)
	if !ok {
		s.Fatal("no d")
	}
	d["learner"] = true
	last := &s.ws.Resources[len(s.ws.Resources)-1]
	last.Type = "etcd_learner"
	maps.Copy(last.Values, arguments)
	plan, r := s.ws.Up(s.Context(), s.start("standby"))
	s.rest(time.Minute)
	return plan, r
}

// A standby learner stays without a vote while all voters answer. If a voter is lost, the
// apply that replaces it promotes the standby.
func TestFailover(t *testing.T) {
	t.Parallel()
	simulate(t, 1, "", func(w *world) {
		s, failover := newSite(w), driver.Values{"failover": true}
		_, r := s.standby(failover)
		s.ok(r)
		s.rest(time.Hour)
		s.expect("members", s.list(), "(d) a b c")
		s.empty("formed")

		s.fleet.stop("c")
		s.rest(time.Minute)
		plan, r := s.standby(failover)
		s.ok(r)
		if !slices.Contains(plan.Actions(), "update "+learnerD) {
			t.Errorf("the promotion is not planned: %v", plan.Actions())
		}
		s.says("c is not replaced", r, "Standby d was not promoted")
		s.expect("members", s.list(), "(d) a b c")
		s.fleet.start("c")
		s.rest(time.Minute)

		was := s.ids()
		s.fleet.lose("c")
		s.rest(time.Minute)
		_, r = s.standby(failover)
		s.ok(r)
		s.expect("members", s.list(), "a b c d")
		s.expect("new members", s.fresh(was), "[c]")
		s.empty("replaced")
	})
}

// A learner is promoted in place. It is demoted by a replacement, and its machine stays.
func TestPromoteAndDemote(t *testing.T) {
	t.Parallel()
	formed(t, "a b c", func(s *site) {
		was := map[string]uint64{}
		for _, c := range []struct {
			promote          bool
			does, list, news string
		}{
			{false, "create " + learnerD, "(d) a b c", "[d]"},
			{true, "update " + learnerD, "a b c d", "[]"},
			{false, "replace " + learnerD, "(d) a b c", "[d]"},
		} {
			if len(was) == 0 {
				was = s.ids()
			}
			plan, r := s.standby(driver.Values{"promote": c.promote})
			s.ok(r)
			if !slices.Contains(plan.Actions(), c.does) {
				t.Errorf("the plan is %v, not %s", plan.Actions(), c.does)
			}
			s.expect("members", s.list(), c.list)
			s.expect("new members", s.fresh(was), c.news)
			s.empty(c.does)
			was = s.ids()
		}
		s.expect("machines", s.fleet.made, map[string]int{"a": 1, "b": 1, "c": 1, "d": 1})
	})
}

// The literal two-phase add: learner, machine, member. Afterwards the etcd_learner can be
// destroyed, which does not change the cluster.
func TestTwoPhaseAdd(t *testing.T) {
	t.Parallel()
	simulate(t, 1, "a b c", func(w *world) {
		s := w.taken("a b c")
		kept := s.ws.Resources
		d := nodes([]string{"d"}, "one")
		d[0].After = []string{"etcd_learner.d"}
		d[1].Values["learner_id"] = driver.Ref{Resource: "etcd_learner.d", Attribute: "id"}
		s.ws.Resources = append(slices.Clone(kept), append(d, added("etcd_learner", "d", etcdsim.PeerURL("d")))...)
		s.ok(s.up("add"))
		s.expect("members", s.list(), "a b c d")
		s.empty("added")

		was := s.ids()
		d[0].After, d[1].Values["learner_id"] = nil, driver.Attribute(s.ws.State("etcd_member.d").Value, "id")
		s.ws.Resources = append(slices.Clone(kept), d...)
		s.expect("the next plan", s.plan("without the learner"), "[delete etcd_learner.d]")
		s.ok(s.up("without the learner"))
		s.expect("members", s.ids(), was)
		s.empty("without the learner")
		s.ws.Resources = kept
		s.ok(s.up("remove"))
		s.expect("members", s.list(), "a b c")
	})
}
