// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/proto"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdsim"
)

func machineOf(name string) string { return `machine.node["` + name + `"]` }
func memberOf(name string) string  { return `etcd_member.node["` + name + `"]` }

// formed runs f with a cluster that has formed, after all windows.
func formed(t *testing.T, names string, f func(s *site)) {
	t.Helper()
	simulate(t, 1, "", func(w *world) {
		w.network.MaxLearners = 2 // one is a standby learner
		s := newSite(w)
		s.apply("form", names, "one", names)
		s.rest(time.Hour)
		s.empty("formed")
		f(s)
	})
}

// silence hides all members from Terraform.
func (s *site) silence() {
	for _, p := range s.cluster.Processes() {
		s.network.Cut("", p.ClientURL)
	}
}

func (s *site) hear() {
	for _, p := range s.cluster.Processes() {
		s.network.Heal("", p.ClientURL)
	}
}

// fresh are the names whose members are not those of before.
func (s *site) fresh(before map[string]uint64) (out []string) {
	for name, id := range s.ids() {
		if before[name] != id {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// says fails the test unless a result has the words, also in a warning.
func (s *site) says(what string, r driver.Result, words string) {
	s.Helper()
	if !strings.Contains(fmt.Sprint(r.Diagnostics), words) {
		s.Errorf("%s: %v, want %q", what, r.Diagnostics, words)
	}
}

// safety are the rules C1 to C18 of safety.md that a simulation can show, with the list of
// what must not be over-strict. C5, C7 to C9 and C11 are also rules of the join script
// (boot_test.go, package rules), C12 is one of tokens (package discoverytoken). C2 and C6
// are in nodes_test.go, C18 is in import_test.go.
var safety = map[string]func(s *site){
	"C1 two voters do not roll": func(s *site) {
		s.apply("shrink", "a b", "one", "a b")
		was := s.ids()
		r := s.try("roll", "a b", "two", driver.Target(machineOf("a")))
		s.ok(r)
		s.says("roll", r, "three")
		s.expect("new members", s.fresh(was), []string{})
		s.expect("machines", s.fleet.made, map[string]int{"a": 1, "b": 1, "c": 1})
	},
	"C1 targets of machines": func(s *site) {
		// The first one loses its machine without its member. The second one waits.
		for _, name := range []string{"a", "b"} {
			s.ok(s.try("machine "+name, "a b c", "two", driver.Target(machineOf(name))))
		}
		s.expect("machines", s.fleet.made, map[string]int{"a": 2, "b": 1, "c": 1})
		for range 4 {
			s.ok(s.try("plain", "a b c", "two"))
		}
		s.empty("finished")
	},
	"C1 a plan that has not seen each node": func(s *site) {
		s.apply("grow", "a b c d e", "one", "a b c d e")
		s.ok(s.try("blind", "a b c d e", "two", driver.NoRefresh))
		s.expect("machines", s.fleet.made, map[string]int{"a": 1, "b": 1, "c": 1, "d": 1, "e": 1})
	},
	"C1 a removal whose plan is old": func(s *site) {
		s.network.Lax = true // the servers check nothing
		s.ws.Resources = clusterOf("a c", "one")
		late, r := s.ws.Plan(s.Context(), s.start("late"))
		s.ok(r)
		s.fleet.stop("c")
		s.rest(time.Minute)
		s.fails("late", s.ws.Apply(s.Context(), s.start("late"), late), "Cannot remove member b")
		s.expect("members", s.list(), "a b c")
	},
	"a replacement whose plan is old": func(s *site) {
		s.apply("grow", "a b c d e", "one", "a b c d e")
		was := s.ids()
		late, r := s.ws.Plan(s.Context(), s.start("late"), driver.Replace(machineOf("b")))
		s.ok(r)
		s.fleet.stop("e")
		s.rest(time.Minute)
		s.fails("late", s.ws.Apply(s.Context(), s.start("late"), late), "Cannot remove member b")
		s.expect("new members", s.fresh(was), []string{})
	},
	"a learner that died is not promoted": func(s *site) {
		s.network.Lax = true // the servers check nothing
		other := s.deadLearner()
		other.Resources[1].Values["promote"] = true
		_, r := other.Up(s.Context(), s.start("other"))
		s.fails("promote", r, "It stays a learner")
		s.expect("members", s.list(), "(g) a b c")
	},
	"a member that a killed run added goes with its name": func(s *site) {
		s.killedWhileAdding("d")
		s.apply("its name goes", "a b c", "one", "a b c")
		s.empty("finished")
	},
	"a member that was added by hand in its place stays": func(s *site) {
		s.killedWhileAdding("d")
		at := []string{etcdsim.PeerURL("d")}
		for _, m := range s.cluster.Members() {
			if m.IsLearner {
				_, err := s.client("a").MemberRemove(s.Context(), m.ID)
				s.must(err)
			}
		}
		s.rest(time.Minute)
		_, err := s.client("a").MemberAddAsLearner(s.Context(), at)
		s.must(err)
		s.apply("its name goes", "a b c", "one", "("+at[0]+") a b c")
	},
	"C4 another cluster answers": func(s *site) {
		stranger := s.network.Form(release, "x").Processes()[0]
		s.rest(time.Minute)
		for _, p := range s.cluster.Processes() {
			s.network.Answer(p.ClientURL, stranger)
		}
		s.unchanged("another cluster", func() {
			plan, r := s.ws.Plan(s.Context(), s.start("plan"))
			s.ok(r)
			s.says("the plan", r, "The endpoints answer for another cluster")
			s.expect("the plan", plan.Actions(), []string{})
			s.fails("destroy", s.up("destroy", driver.Destroy), "answer for cluster")
		})
		s.expect("the stranger's members", len(s.network.Cluster(s.strangers(stranger)).Members()), 1)
	},
	"C13 a replacement of another state is on its way": func(s *site) {
		other := driver.New(s, s.provider("a b c"))
		other.Machines = s.fleet
		other.Resources = nodes([]string{"g"}, "one")
		_, r := other.Up(s.Context(), s.start("other"))
		s.ok(r)
		s.rest(time.Minute)
		late, r := s.ws.Plan(s.Context(), s.start("late"), driver.Replace(machineOf("b")))
		s.ok(r)
		s.fleet.soldOut["g"] = true
		other.Resources = nodes([]string{"g"}, "two")
		_, r = other.Up(s.Context(), s.start("other"))
		s.fails("other", r, "no machine is left")
		s.expect("members", s.list(), "a b c")
		was := s.ids()
		s.fails("late", s.ws.Apply(s.Context(), s.start("late"), late), "Cannot remove member b")
		s.fails("roll", s.try("roll", "a b c", "two"), "endanger")
		s.fails("replace", s.up("replace", driver.Replace(machineOf("b"))), "endanger")
		s.expect("new members", s.fresh(was), []string{})
	},
	"C14 a tainted cluster in silence": func(s *site) {
		s.ws.Taint("etcd_cluster.this")
		s.silence()
		targets := []driver.Option{driver.NoRefresh, driver.Target(machineOf("a")), driver.Target(machineOf("b")), driver.Target(machineOf("c"))}
		s.unchanged("taint", func() {
			s.fails("all", s.up("all", driver.NoRefresh), "is in the state")
			s.fails("machines", s.up("machines", targets...), "is in the state")
		})
		s.expect("machines", s.fleet.made, map[string]int{"a": 1, "b": 1, "c": 1})
		s.ws.Untaint("etcd_cluster.this")
		s.hear()
		s.empty("untainted")
	},
	"C15 members that the state lost, in silence": func(s *site) {
		s.ok(s.up("refresh")) // it stores that the cluster has answered
		for _, name := range []string{"a", "b", "c"} {
			s.ws.Forget(memberOf(name))
		}
		s.silence()
		s.unchanged("silence", func() {
			s.fails("machines", s.up("machines", driver.Replace(machineOf("a")), driver.Replace(machineOf("b"))), "cannot be observed")
		})
		s.expect("machines", s.fleet.made, map[string]int{"a": 1, "b": 1, "c": 1})
	},
	"C17 a member with another version is first": func(s *site) {
		// The image of c has etcd in it, and was not built anew.
		s.fleet.version = func(image string) etcdsim.Version {
			return etcdsim.Version(map[bool]string{true: "3.6.17", false: "3.6.16"}[image == "two"])
		}
		versioned := func(image, version string) driver.Result {
			s.ws.Resources = clusterOf("a b c", image)
			s.set("version", version)
			_, r := s.ws.Up(s.Context(), s.start("version"))
			s.ok(r)
			s.rest(time.Minute)
			return r
		}
		versioned("one", "3.6.16")
		was := s.ids()
		s.says("the image stays", versioned("one", "3.6.17"), "Node a is rebuilt")
		s.expect("rebuilt", s.fresh(was), "[a]")
		was = s.ids()
		r := versioned("one", "3.6.17")
		s.says("the image stays", r, "another version")
		s.says("the image stays", r, "No node is rebuilt")
		s.expect("rebuilt", s.fresh(was), "[]")
		s.says("the next image", versioned("two", "3.6.17"), "Node a is rebuilt")
		s.expect("rebuilt", s.fresh(was), "[a]")
		versioned("two", "3.6.17")
		versioned("two", "3.6.17")
		s.expect("rebuilt", s.fresh(was), "[a b c]")
		s.expect("the next plan", s.plan("next"), "[]")
	},
	"a name that never came up does not block the others": func(s *site) {
		// It has blocks of its own: within one for_each Terraform waits for all machines.
		grown := func(image string) driver.Result {
			s.ws.Resources = clusterOf("a b c d", image)
			last := s.ws.Resources[7:]
			last[0].Name, last[1].Name = "d", "d"
			last[1].Values["machine_id"] = driver.Ref{Resource: "machine.d", Attribute: "id"}
			r := s.up("grown")
			s.rest(time.Minute)
			return r
		}
		s.fleet.soldOut["d"] = true
		was := s.ids()
		s.fails("grow", grown("one"), "no machine is left")
		for range 4 { // the first one is the turn of the name itself
			s.fails("roll", grown("two"), "no machine is left")
		}
		s.expect("rebuilt", s.fresh(was), "[a b c]")
		s.fleet.soldOut["d"] = false
		s.ok(grown("two"))
		s.expect("members", s.list(), "a b c d")
		s.expect("the next plan", s.plan("next"), "[]")
	},
	"a dead standby learner warns": func(s *site) {
		s.deadLearner()
		s.expect("members", s.list(), "(g) a b c")
		was := s.ids()
		r := s.try("roll", "a b c", "two")
		s.ok(r)
		s.says("roll", r, "Learners do not answer")
		s.expect("rebuilt", s.fresh(was), "[a]")
	},
	"two dead voters of five are replaced in one plan": func(s *site) {
		s.apply("grow", "a b c d e", "one", "a b c d e")
		was := s.ids()
		s.fleet.lose("d")
		s.fleet.lose("e")
		s.rest(time.Minute)
		s.apply("replace", "a b c d e", "one", "a b c d e")
		s.expect("new members", s.fresh(was), "[d e]")
		s.empty("replaced")
	},
	"a plan without access is possible": func(s *site) {
		s.silence()
		s.expect("the plan", s.plan("silence"), "[]")
		s.ws.Resources = clusterOf("a b c", "two")
		s.expect("the plan of an image", s.plan("silence"), "[update etcd_cluster.this]")
	},
	"a sole learner follows its machine beside a voter": func(s *site) {
		s.ws.Provider = s.provider("a b c")
		s.ws.Resources = append(clusterOf("a b c", "one"), nodes([]string{"g"}, "one")...)
		s.ws.Resources[len(s.ws.Resources)-1].Type = "etcd_learner"
		s.ok(s.up("grow"))
		s.rest(time.Minute)
		was := s.ids()
		s.ok(s.up("replace", driver.Replace("machine.g"), driver.Replace(machineOf("b"))))
		s.rest(time.Minute)
		s.expect("new members", s.fresh(was), "[b g]")
		s.expect("the next plan", s.plan("next"), "[]")
	},
	"a dead voter follows its machine": func(s *site) {
		was := s.ids()
		s.fleet.stop("b")
		s.rest(time.Minute)
		s.apply("replace", "a b c", "one", "a b c", driver.Replace(machineOf("b")))
		s.expect("new members", s.fresh(was), "[b]")
		s.empty("replaced")
	},
}

// deadLearner adds g, a learner of another state, and stops its machine.
func (s *site) deadLearner() *driver.Workspace {
	s.Helper()
	other := driver.New(s, s.provider("a b c"), nodes([]string{"g"}, "one")...)
	other.Machines, other.Resources[1].Type = s.fleet, "etcd_learner"
	_, r := other.Up(s.Context(), s.start("other"))
	s.ok(r)
	s.fleet.stop("g")
	s.rest(time.Minute)
	return other
}

// killedWhileAdding lets a run be killed that adds a member, after it has recorded its ID.
func (s *site) killedWhileAdding(name string) {
	s.Helper()
	ctx, end := context.WithCancel(s.Context())
	defer end()
	killed := false
	s.network.After = func(_ context.Context, call etcdsim.Call, _ proto.Message, err error) error {
		if _, puts := call.Request.(*pb.TxnRequest); puts && strings.Contains(s.list(), etcdsim.PeerURL(name)) {
			killed = true
		}
		if killed && strings.HasPrefix(call.Run, "killed.") {
			end()
			return errKilled
		}
		return err
	}
	s.fleet.broken[name] = true
	s.ws.Resources = clusterOf("a b c "+name, "one")
	_, r := s.ws.Up(ctx, s.start("killed"))
	s.rest(time.Hour)
	if r.Err() == nil || !killed {
		s.Fatalf("it was not killed: %v, members %s", r, s.list())
	}
}

// plan is what a plan does.
func (s *site) plan(what string) []string {
	s.Helper()
	plan, r := s.ws.Plan(s.Context(), s.start(what))
	s.ok(r)
	return plan.Actions()
}

// strangers is the ID of the cluster of a process.
func (s *site) strangers(p *etcdsim.Process) uint64 {
	list, err := s.network.Run("test").Client(p.ClientURL, p.ClientURL).MemberList(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	return list.Header.ClusterId
}

func TestRules(t *testing.T) {
	t.Parallel()
	for name, do := range safety {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			formed(t, "a b c", do)
		})
	}
}
