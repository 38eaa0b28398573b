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
)

// TestAccGames plays recorded games on real etcd with the real CLI. What comes of each
// command is what the record says of the simulated world, to which TestGames of package
// simulated holds it. At the end of a game the plan is empty.
//
// It plays three games, and all of them with ETCD_TEST_FULL=1. SOAK is how long all of them
// are played again and again. SOAK_GAME is a file with other games.
func TestAccGames(t *testing.T) {
	t.Parallel()
	recorded := filepath.Join(etcdtest.ModuleRoot(t), "internal", "test", "simulated", "testdata", "games.txt")
	games := ReadGames(t, cmp.Or(os.Getenv("SOAK_GAME"), recorded))
	if os.Getenv("SOAK_GAME") == "" && os.Getenv("SOAK") == "" && !etcdtest.Full() {
		games = append(games[:2], games[slices.IndexFunc(games, func(g Game) bool { return g.Name == "a learner is promoted" })])
	}
	limit, err := time.ParseDuration(cmp.Or(os.Getenv("SOAK"), "0s"))
	if err != nil {
		t.Fatalf("SOAK: %v", err)
	}
	begin := time.Now()
	for round := 1; round == 1 || time.Since(begin) < limit && !t.Failed(); round++ {
		t.Run(fmt.Sprint("round ", round), func(t *testing.T) {
			for _, g := range games {
				t.Run(g.Name, func(t *testing.T) {
					t.Parallel()
					play(t, g)
				})
			}
		})
	}
}

// gamer plays a game.
type gamer struct {
	*Fleet
	tainted []string
}

func play(t *testing.T, game Game) {
	for _, l := range game.Lines {
		if verb, _, _ := strings.Cut(l.Text, " "); gameEdits[verb] == nil && gameCommands[verb] == nil {
			t.Skipf("%q is not for real processes", l.Text)
		}
	}
	g := &gamer{Fleet: NewFleet(t, FleetOptions{Version: etcdtest.V36})}
	g.Drop(g.names()...)
	for _, l := range game.Lines {
		verb, rest, _ := strings.Cut(l.Text, " ")
		words := strings.Fields(strings.ReplaceAll(rest, "machine.node", "terraform_data.machine"))
		if edit := gameEdits[verb]; edit != nil {
			edit(g, words)
			continue
		}
		if got := g.record(gameCommands[verb], words); got != l.Outcome {
			t.Fatalf("%s:\n%s\nin the simulated world:\n%s", l.Text, got, l.Outcome)
		}
		if verb == "destroy" {
			g.MustBeGone()
			return
		}
	}
	g.Plan().MustBeEmpty()
}

// record runs a command, and returns what came of it, once the members serve.
func (g *gamer) record(command func(*gamer, []string) *Outcome, words []string) string {
	g.TB.Helper()
	var before, after []*etcdserverpb.Member
	if g.State(cluster) != nil {
		before = g.Members()
	}
	o := command(g, words)
	g.TB.Logf("%v: %d", o.Args, o.ExitCode)
	var summaries []string
	for _, e := range o.Errors() {
		summaries = append(summaries, e.Summary)
	}
	if o.ExitCode == 1 {
		for _, address := range g.tainted { // what was refused is withdrawn
			g.Run("untaint", address)
		}
	}
	g.tainted = nil
	if g.State(cluster) != nil {
		after = g.Members()
		g.settle(after)
	}
	return GameOutcome(summaries, before, after)
}

// settle waits until each voter whose process runs serves.
func (g *gamer) settle(members []*etcdserverpb.Member) {
	g.TB.Helper()
	for _, m := range members {
		if g.Nodes[m.Name] != nil && !m.IsLearner && g.runs(m.Name) && slices.Contains(m.ClientURLs, g.Nodes[m.Name].Client) {
			g.MustServe(m.Name)
		}
	}
}

// runs reports whether the etcd of a machine runs.
func (g *gamer) runs(name string) bool {
	pid := g.PID(name, "etcd.pid")
	return slices.ContainsFunc(Processes(), func(p Process) bool { return p.PID == pid })
}

// converge applies until nothing is to do.
func (g *gamer) converge() {
	g.TB.Helper()
	for applies := 0; g.Plan().ExitCode != 0; applies++ {
		if applies > 2*len(g.Nodes)+4 {
			g.TB.Fatalf("the plan is not empty after %d applies", applies)
		}
		g.Apply()
		g.settle(g.Members())
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

// gameEdits are the lines that run no command of Terraform, or one that asks no etcd.
var gameEdits = map[string]func(g *gamer, words []string){
	"add":     func(g *gamer, w []string) { g.Add(w...) },
	"drop":    func(g *gamer, w []string) { g.Drop(w...) },
	"learner": func(g *gamer, w []string) { g.Add(w...); g.Nodes[w[0]].Joins = "learner" },
	"promote": func(g *gamer, w []string) {
		g.Nodes[w[0]].Joins = "member"
		g.Write("moved.tf", fmt.Sprintf("moved {\n  from = %s\n  to   = %s\n}\n", Address("etcd_learner", w[0]), member(w[0])))
	},
	"address": func(g *gamer, w []string) { g.Add(w...) }, // with new ports
	"image":   func(g *gamer, w []string) { g.Image = w[0] },
	"version": func(g *gamer, w []string) {
		minor := w[0][:strings.LastIndex(w[0], ".")] // that patch may not be built
		g.Release = g.Releases(etcdtest.Version(minor))[0]
	},
	"rebuild": func(g *gamer, w []string) {
		if g.Rebuild == nil {
			g.Rebuild = map[string]string{}
		}
		g.Rebuild[w[0]] += "again"
	},
	// The time and the order of events are the real ones, and record waits for what matters.
	"wait":        func(*gamer, []string) {},
	"latency":     func(*gamer, []string) {},
	"parallelism": func(*gamer, []string) {},
	"converge":    func(g *gamer, _ []string) { g.converge() },
	"stop":        func(g *gamer, w []string) { g.Crash(w...) },
	"boot":        func(g *gamer, w []string) { g.Repair(w...) },
	"wipe":        func(g *gamer, w []string) { g.wipe(w[0]) },
	"lose": func(g *gamer, w []string) { // what a refresh of a cloud's machine would find
		g.Lose(w[0])
		g.Run("state", "rm", machine(w[0])).MustSucceed()
	},
	"remove": func(g *gamer, w []string) {
		others := slices.DeleteFunc(g.names(), func(name string) bool { return name == w[0] })
		client, id := g.Client(others...), g.MemberIDs()[w[0]]
		etcdtest.Eventually(g.TB, w[0]+" is removed", func() error { // the others must have been connected for a time
			_, err := client.MemberRemove(etcdtest.WaitContext(g.TB), id)
			return err
		})
		etcdtest.Until(g.TB, w[0]+" ends", func() bool { return !g.runs(w[0]) })
	},
	"forget": func(g *gamer, w []string) { g.Run("state", "rm", w[0]).MustSucceed() },
	"taint": func(g *gamer, w []string) {
		g.Run("taint", w[0]).MustSucceed()
		g.tainted = append(g.tainted, w[0])
	},
	"import": func(g *gamer, w []string) {
		var endpoints []string
		for _, name := range g.names() {
			endpoints = append(endpoints, g.Nodes[name].Client)
		}
		g.Write("provider.tf", Access{Endpoints: endpoints}.ProviderConfig())
		g.Run("import", "-input=false", member(w[0]), w[0]).MustSucceed()
		g.Write("provider.tf", g.providerBlock())
	},
}

// gameCommands are the lines with an outcome.
var gameCommands = map[string]func(g *gamer, words []string) *Outcome{
	"form":  func(g *gamer, w []string) *Outcome { g.Add(w...); return g.Form() },
	"plan":  func(g *gamer, w []string) *Outcome { return g.Plan(w...).Outcome },
	"apply": func(g *gamer, w []string) *Outcome { return g.Apply(w...) },
	"saved": func(g *gamer, w []string) *Outcome {
		p := g.Plan(w[1:]...)
		if p.ExitCode == 1 {
			return p.Outcome
		}
		return g.Run("apply", "-json", "-input=false", p.File)
	},
	"destroy": func(g *gamer, _ []string) *Outcome { return g.Destroy() },
}
