// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdsim"
)

// bad are the bad days of a cluster: what must hold on each, beside what the search and
// the life show.
var bad = map[string]func(s *site){
	"a saved plan is two days old": func(s *site) {
		s.ws.Resources = clusterOf("a b c", "two")
		plan, r := s.ws.Plan(s.Context(), s.start("plan"))
		s.ok(r)
		s.fleet.stop("b") // the plan rebuilds a
		s.rest(48 * time.Hour)
		s.unchanged("late", func() { s.fails("late", s.ws.Apply(s.Context(), s.start("apply"), plan), "Cannot remove member a") })
		s.expect("machines", s.fleet.made, map[string]int{"a": 1, "b": 1, "c": 1})
		s.fleet.start("b")
		s.finishWith("a b c", "two")
	},
	"one name in place of another": func(s *site) {
		was := s.ids()
		s.apply("rename", "a b x", "one", "a b x")
		s.expect("new members", s.fresh(was), "[x]")
		s.empty("renamed")
	},
	"a moved block cannot rename": func(s *site) {
		was := s.ids()
		s.ws.Rename(memberOf("c"), memberOf("x"))
		s.ws.Rename(machineOf("c"), machineOf("x"))
		s.finishWith("a b x", "one")
		s.expect("new members", s.fresh(was), "[x]")
	},
	"the whole state is lost": func(s *site) {
		for _, address := range s.ws.Addresses() {
			s.ws.Forget(address)
		}
		s.unchanged("lost", func() { s.fails("lost", s.up("lost"), "import {") })
		s.expect("machines", s.fleet.made, map[string]int{"a": 1, "b": 1, "c": 1})
	},
	"create_before_destroy on the members": func(s *site) {
		for i, r := range s.ws.Resources {
			s.ws.Resources[i].CreateBeforeDestroy = r.Type == "etcd_member"
		}
		s.ok(s.up("write it"))
		r := s.up("replace", driver.Replace(memberOf("b")))
		s.ok(r)
		s.says("replace", r, "create_before_destroy")
		s.expect("members", s.list(), "a b c")
		for i := range s.ws.Resources {
			s.ws.Resources[i].CreateBeforeDestroy = false
		}
		s.ok(s.up("take it out"))
		s.finishWith("a b c", "one")
	},
	"silence": func(s *site) {
		s.silence()
		s.unchanged("silence", func() {
			s.try("roll", "a b c", "two")
			s.try("replace", "a b c", "two", driver.Replace(machineOf("a")))
			s.try("shrink", "b c", "two")
			s.try("destroy", "a b c", "two", driver.Destroy)
		})
		s.expect("machines", s.fleet.made, map[string]int{"a": 1, "b": 1, "c": 1})
		s.hear()
		s.finishWith("a b c", "two")
	},
	"a wiped machine waits, and is replaced by hand": func(s *site) {
		s.fleet.wipe("b")
		s.rest(time.Hour)
		_, r := s.ws.Plan(s.Context(), s.start("plan"))
		s.says("wiped", r, "-replace='ADDRESS OF THE MACHINE OF b'")
		s.apply("replace", "a b c", "one", "a b c", driver.Replace(machineOf("b")))
		s.empty("replaced")
	},
	"a wiped machine is replaced after a time": func(s *site) {
		was := s.ids()
		s.set("replace_unreachable_after", "10m")
		s.ok(s.up("set"))
		s.fleet.wipe("b")
		s.rest(time.Minute)
		// Each apply stores what it saw of the silence, and none waits for its end.
		begin := time.Now()
		for s.ids()["b"] == was["b"] && time.Since(begin) < time.Hour {
			called := time.Now()
			s.ok(s.up("replace"))
			if took := time.Since(called); s.ids()["b"] == was["b"] && took > time.Minute {
				s.Errorf("an apply took %v", took)
			}
			s.rest(time.Minute)
		}
		if took := time.Since(begin); took < 10*time.Minute || took > 15*time.Minute {
			s.Errorf("it was replaced after %v", took)
		}
		s.rest(time.Minute)
		s.expect("new members", s.fresh(was), "[b]")
		s.expect("the next plan", s.plan("next"), "[]")
	},
	"the metrics of the leader are elsewhere": func(s *site) {
		s.set("replace_unreachable_after", "10m")
		s.ok(s.up("set"))
		was, before := s.ids(), s.network.Before
		s.network.Before = func(ctx context.Context, c etcdsim.Call) error {
			if c.Method == "GET /metrics" {
				return errors.New("404 Not Found")
			}
			return before(ctx, c)
		}
		s.fleet.wipe("b")
		for range 2 {
			s.rest(20 * time.Minute)
			r := s.up("look")
			s.ok(r)
			s.says("the plan", r, "the leader's view of it is missing")
		}
		s.expect("new members", s.fresh(was), "[]")
	},
	"the quorum is lost, and then all machines": func(s *site) {
		s.lost("b c")
		s.unchanged("no quorum", func() {
			plan, r := s.ws.Plan(s.Context(), s.start("plan"))
			s.ok(r)
			s.says("the plan", r, "The cluster has lost its quorum")
			s.expect("the plan", plan.Actions(), "[]")
			s.ws.Resources = clusterOf("a b c d", "one")
			s.ws.Resources[len(s.ws.Resources)-1].Values["timeouts"] = driver.Values{"create": "1m"}
			s.fails("grow", s.up("grow"), "The cluster has lost its quorum", "d could not be added")
			s.ws.Resources = clusterOf("a b c", "one")
			s.fails("remove c", s.up("remove c", driver.Destroy, driver.Target(memberOf("c"))), "Cannot remove member c")
		})
		s.fleet.lose("d")
		s.fleet.start("b")
		s.fleet.start("c")
		s.finishWith("a b c", "one")
		for _, name := range []string{"a", "b", "c"} {
			s.fleet.lose(name)
		}
		s.rest(time.Minute)
		statement := s.id() + ":a,b,c"
		s.fails("not stated", s.up("not stated", driver.Destroy, driver.NoRefresh), "ETCD_CLUSTER_LOST="+statement)
		s.env["ETCD_CLUSTER_LOST"] = statement
		s.ok(s.up("stated", driver.Destroy, driver.NoRefresh))
		s.expect("the state", s.ws.Addresses(), "[]")
	},
	"two people add a member each, at the same time": func(s *site) {
		other, first := s.ws.Clone(), make(chan driver.Result, 1)
		s.ws.Resources, other.Resources = clusterOf("a b c d", "one"), clusterOf("a b c e", "one")
		go func() { _, r := s.ws.Up(s.Context(), s.start("first")); first <- r }()
		_, r := other.Up(s.Context(), s.start("second"))
		s.ok(r)
		s.ok(<-first)
		s.expect("members", s.list(), "a b c d e")
		for _, ws := range []*driver.Workspace{s.ws, other} { // each state lacks the other's node
			plan, r := ws.Plan(s.Context(), s.start("next"))
			s.ok(r)
			s.expect("the next plan", plan.Change(memberOf("a")).Action, "no-op")
		}
		for _, key := range s.keys() {
			if strings.HasSuffix(key, "/lock") {
				s.Errorf("%s is left", key)
			}
		}
	},
	"the clock of Terraform's machine is wrong by days": func(s *site) {
		for name, skew := range map[string]time.Duration{"d": 10 * 24 * time.Hour, "e": -10 * 24 * time.Hour} {
			s.skew = skew
			s.killedWhileAdding(name)
			s.network.After, s.fleet.broken[name] = nil, false
			s.fleet.start(name)
			added := s.cluster.Members()
			s.apply("finish", "a b c "+name, "one", "a b c "+name)
			for _, m := range added {
				if m.IsLearner {
					s.expect("the member that was added first", s.ids()[name], m.ID)
				}
			}
			s.apply("shrink", "a b c", "one", "a b c")
		}
		was := s.ids()
		s.apply("roll", "a b c", "two", "a b c")
		s.expect("rebuilt", s.fresh(was), "[a]")
	},
	"the same URLs, written differently": func(s *site) {
		was := s.ids()
		wanted, _ := s.ws.Resources[0].Values["members"].(map[string]any)
		for name := range wanted {
			wanted[name] = driver.Values{"peer_urls": []any{"HTTP://" + name + ".Example:2380/"}, "client_urls": []any{"HTTP://" + name + ".Example:2379/"}}
		}
		s.expect("the plan", s.plan("written differently"), "[update etcd_cluster.this]")
		s.ok(s.up("written differently"))
		s.expect("new members", s.fresh(was), "[]")
		s.expect("the next plan", s.plan("next"), "[]")
	},
	"the cluster is destroyed while one member is dead": func(s *site) {
		s.fleet.stop("c")
		s.rest(time.Minute)
		s.ok(s.up("destroy", driver.Destroy))
		s.expect("the state", s.ws.Addresses(), "[]")
	},
}

// finishWith applies a configuration until nothing is to do.
func (s *site) finishWith(names, image string) {
	s.Helper()
	s.rest(time.Minute)
	for range 5 {
		s.ok(s.try("finish", names, image))
	}
	s.expect("members", s.list(), names)
	s.empty("finished")
}

func TestBadDays(t *testing.T) {
	t.Parallel()
	for name, do := range bad {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			formed(t, "a b c", do)
		})
	}
}
