// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/scenario"
)

// TestAccRecorded runs recorded scenarios on real etcd with the real CLI. What comes of each
// command is what the record says of the simulated world, to which TestRecorded of package
// simulated holds it. At the end of a scenario the plan is empty.
//
// It runs three scenarios, and all of them with ETCD_TEST_FULL=1. SOAK is how long all of them
// are run again and again. SCENARIO is a file with other scenarios.
func TestAccRecorded(t *testing.T) {
	t.Parallel()
	file := filepath.Join(etcdtest.ModuleRoot(t), "internal", "test", "simulated", "testdata", "recorded.txt")
	all := scenario.Read(t, cmp.Or(os.Getenv("SCENARIO"), file))
	if os.Getenv("SCENARIO") == "" && os.Getenv("SOAK") == "" && !etcdtest.Full() {
		promoted := func(s scenario.Scenario) bool { return s.Name == "a learner is promoted" }
		all = append(all[:2], all[slices.IndexFunc(all, promoted)])
	}
	limit, err := time.ParseDuration(cmp.Or(os.Getenv("SOAK"), "0s"))
	if err != nil {
		t.Fatalf("SOAK: %v", err)
	}
	begin := time.Now()
	for round := 1; round == 1 || time.Since(begin) < limit && !t.Failed(); round++ {
		t.Run(fmt.Sprint("round ", round), func(t *testing.T) {
			for _, s := range all {
				t.Run(s.Name, func(t *testing.T) {
					t.Parallel()
					runScenario(t, s)
				})
			}
		})
	}
}

// runner runs the steps of a scenario on real processes.
type runner struct {
	*Fleet
	tainted []string
	// members are those after the last command, see [scenario.Members].
	members string
}

func runScenario(t *testing.T, of scenario.Scenario) {
	for _, step := range of.Steps {
		verb, rest, _ := strings.Cut(step, " ")
		known := steps[verb] != nil || commandSteps[verb] != nil || verb == "members"
		if !known || verb == "etcdctl" && !strings.HasPrefix(rest, "member remove ") {
			t.Skipf("%q is not for real processes", step)
		}
	}
	r := &runner{Fleet: NewFleet(t, FleetOptions{Version: etcdtest.V36})}
	r.Drop(r.names()...)
	for _, step := range of.Steps {
		does, want := scenario.Divide(step)
		verb, rest, _ := strings.Cut(does, " ")
		words := addresses(rest)
		if command := commandSteps[verb]; command != nil {
			if got, wants := r.command(command, words), strings.TrimPrefix(want, " => "); got != wants {
				t.Fatalf("%s: %q", step, got)
			}
		} else if verb == "members" {
			if r.members != rest {
				t.Fatalf("%s: %s", step, r.members)
			}
		} else {
			steps[verb](r, words)
		}
		if verb == "destroy" {
			r.MustBeGone()
			return
		}
	}
	r.Plan().MustBeEmpty()
}

// addresses are the words of a step, in which an address may be short.
func addresses(words string) (out []string) {
	for _, word := range strings.Fields(words) {
		out = append(out, scenario.Address(word, "terraform_data.machine"))
	}
	return out
}

// command runs a command. It returns the summaries of its errors, once the members serve.
func (r *runner) command(command func(*runner, []string) *Outcome, words []string) string {
	r.TB.Helper()
	var before, after []*etcdserverpb.Member
	if r.State(cluster) != nil {
		before = r.Members()
	}
	o := command(r, words)
	r.TB.Logf("%v: %d", o.Args, o.ExitCode)
	var summaries []string
	for _, e := range o.Errors() {
		summaries = append(summaries, e.Summary)
	}
	if o.ExitCode == 1 {
		for _, address := range r.tainted { // what was refused is withdrawn
			r.Run("untaint", address)
		}
	}
	r.tainted = nil
	if r.State(cluster) != nil {
		after = r.Members()
		r.settle(after)
	}
	r.members = scenario.Members(before, after)
	slices.Sort(summaries)
	return strings.Join(slices.Compact(summaries), " & ")
}

// settle waits until each voter whose process runs serves.
func (r *runner) settle(members []*etcdserverpb.Member) {
	r.TB.Helper()
	for _, m := range members {
		if r.Nodes[m.Name] != nil && !m.IsLearner && r.runs(m.Name) &&
			slices.Contains(m.ClientURLs, r.Nodes[m.Name].Client) {
			r.MustServe(m.Name)
		}
	}
}

// runs reports whether the etcd of a machine runs.
func (r *runner) runs(name string) bool {
	pid := r.PID(name, "etcd.pid")
	return slices.ContainsFunc(Processes(), func(p Process) bool { return p.PID == pid })
}

// converge applies until nothing is to do.
func (r *runner) converge() {
	r.TB.Helper()
	for applies := 0; r.Plan().ExitCode != 0; applies++ {
		if applies > 2*len(r.Nodes)+4 {
			r.TB.Fatalf("the plan is not empty after %d applies", applies)
		}
		r.Apply()
		r.settle(r.Members())
	}
}

// wipe deletes the data of a machine and boots it again. It returns when the join script
// has refused to start.
func (f *Fleet) wipe(name string) {
	f.TB.Helper()
	f.Crash(name)
	for _, data := range []string{"data", "etcd.log"} {
		must.Succeed(f.TB, os.RemoveAll(filepath.Join(f.Machines, name, data)))
	}
	starts := func() int {
		events := must.Read(f.TB, filepath.Join(f.Machines, name+".events"))
		return strings.Count(events, " start ")
	}
	before := starts()
	f.Repair(name)
	etcdtest.Eventually(f.TB, "the join script does not start "+name, func() error {
		text, err := os.ReadFile(filepath.Join(f.Machines, name, "etcd.log"))
		if err == nil && !strings.Contains(string(text), "etcd-join: ") {
			err = fmt.Errorf("the log: %s", text)
		}
		return err
	})
	if starts() != before {
		f.TB.Error("etcd was started")
	}
}

// steps are the steps that run no command of Terraform, or one that asks no etcd.
var steps = map[string]func(r *runner, words []string){
	"add":     func(r *runner, w []string) { r.Add(w...) },
	"drop":    func(r *runner, w []string) { r.Drop(w...) },
	"learner": func(r *runner, w []string) { r.Add(w...); r.Nodes[w[0]].Joins = "learner" },
	"promote": func(r *runner, w []string) {
		r.Nodes[w[0]].Joins = "member"
		r.Write("moved.tf", fmt.Sprintf("moved {\n  from = %s\n  to   = %s\n}\n", Address("etcd_learner", w[0]),
			member(w[0])))
	},
	"address": func(r *runner, w []string) { r.Add(w...) }, // with new ports
	"image":   func(r *runner, w []string) { r.Image = w[0] },
	"version": func(r *runner, w []string) {
		minor := w[0][:strings.LastIndex(w[0], ".")] // that patch may not be built
		r.Release = r.Releases(etcdtest.Version(minor))[0]
	},
	"rebuild": func(r *runner, w []string) {
		if r.Rebuild == nil {
			r.Rebuild = map[string]string{}
		}
		r.Rebuild[w[0]] += "again"
	},
	// The time and the order of events are the real ones, and a command waits for what matters.
	"wait":        func(*runner, []string) {},
	"latency":     func(*runner, []string) {},
	"parallelism": func(*runner, []string) {},
	"converge":    func(r *runner, _ []string) { r.converge() },
	"stop":        func(r *runner, w []string) { r.Crash(w...) },
	"start":       func(r *runner, w []string) { r.Repair(w...) },
	"wipe":        func(r *runner, w []string) { r.wipe(w[0]) },
	"lose": func(r *runner, w []string) { // what a refresh of a cloud's machine would find
		r.Lose(w[0])
		r.Run("state", "rm", machine(w[0])).MustSucceed()
	},
	"etcdctl": func(r *runner, w []string) { // member remove
		w = w[2:]
		others := slices.DeleteFunc(r.names(), func(name string) bool { return name == w[0] })
		client, id := r.Client(others...), r.MemberIDs()[w[0]]
		etcdtest.Eventually(r.TB, w[0]+" is removed", func() error { // the others must have been connected for a time
			_, err := client.MemberRemove(etcdtest.WaitContext(r.TB), id)
			return err
		})
		etcdtest.Until(r.TB, w[0]+" ends", func() bool { return !r.runs(w[0]) })
	},
	"forget": func(r *runner, w []string) { r.Run("state", "rm", w[0]).MustSucceed() },
	"taint": func(r *runner, w []string) {
		r.Run("taint", w[0]).MustSucceed()
		r.tainted = append(r.tainted, w[0])
	},
	"import": func(r *runner, w []string) {
		var endpoints []string
		for _, name := range r.names() {
			endpoints = append(endpoints, r.Nodes[name].Client)
		}
		r.Write("provider.tf", Access{Endpoints: endpoints}.ProviderConfig())
		r.Run("import", "-input=false", w[0], w[1]).MustSucceed()
		r.Write("provider.tf", r.providerBlock())
	},
}

// commandSteps are the commands.
var commandSteps = map[string]func(r *runner, words []string) *Outcome{
	"form":  func(r *runner, w []string) *Outcome { r.Add(w...); return r.Form() },
	"plan":  func(r *runner, w []string) *Outcome { return r.Plan(w...).Outcome },
	"apply": func(r *runner, w []string) *Outcome { return r.Apply(w...) },
	"saved": func(r *runner, w []string) *Outcome {
		p := r.Plan(w[1:]...)
		if p.ExitCode == 1 {
			return p.Outcome
		}
		return r.Run("apply", "-json", "-input=false", p.File)
	},
	"destroy": func(r *runner, _ []string) *Outcome { return r.Destroy() },
}
