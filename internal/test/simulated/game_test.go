// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdsim"
)

// game is a cluster with two workspaces: the first has the etcd_cluster with its nodes, the
// second has g, a member without a node, and a backup. It is played by lines, see actions.
type game struct {
	*site
	*oracle
	*plan
	random *rand.Rand
	fault  fault
	two    *driver.Workspace
	backup backup
	// lines are what was played, commands how many of them ran Terraform.
	lines    []string
	commands int
	// tainted are the addresses that are untainted after the next command: what was
	// refused is withdrawn.
	tainted []string
	writes  []string // keys whose write was acknowledged
	// lost is true once the cluster has lost its quorum to what is outside of Terraform, or
	// was destroyed. Then writes and members may be lost.
	lost bool
	// other is a member of another cluster.
	other    *etcdsim.Process
	coverage coverage
	// together is true while two runs work at the same time.
	together bool
	// voted are the members that were given a vote by hand.
	voted map[uint64]bool
	// persisted is a state that may come back.
	persisted *driver.Backup
	// unchecked are names that are gone, and whose members an apply could not remove.
	unchecked []string
}

// plan is the configuration of both workspaces.
type plan struct {
	names    []string
	learners map[string]bool
	image    string
	version  string
	rebuilt  map[string]any
	address  map[string]string
	after    string
	gone     []any // restore, unless it is nil
	replaces string
	theirs   string // the image of g, "" without it
	urls     string // the peer URL of g
}

// newGame is a game before the first line.
func newGame(w *world, dir string) *game {
	g := &game{
		site: newSite(w), two: driver.New(w, driver.Values{}),
		voted:  map[uint64]bool{},
		plan:   &plan{learners: map[string]bool{}, image: "0", rebuilt: map[string]any{}, address: map[string]string{}},
		backup: backup{path: filepath.Join(dir, "etcd.db")},
	}
	g.two.Machines = g.fleet
	g.ws.CLI = driver.CLI(w.seed % 3)
	g.two.CLI = g.ws.CLI
	w.network.MaxLearners = 6 // standby learners leave room
	return g
}

// node is a node of the first workspace.
func (g *game) node(name string) driver.Values {
	host := name + g.address[name] + ".example"
	v := driver.Values{"peer_urls": []any{"http://" + host + ":2380"}, "client_urls": []any{"http://" + host + ":2379"}}
	if g.learners[name] {
		v["learner"] = true
	}
	return v
}

// configure writes the configurations.
func (g *game) configure() {
	g.ws.Resources = clusterOf(strings.Join(g.names, " "), g.image)
	wanted := map[string]any{}
	for _, name := range g.names {
		wanted[name] = g.node(name)
	}
	g.set("members", wanted)
	if len(g.rebuilt) > 0 {
		g.set("rebuild", g.rebuilt)
	}
	if g.after != "" {
		g.set("replace_unreachable_after", g.after)
	}
	if g.gone != nil {
		g.set("restore", restoreOf(g.replaces, g.gone...))
	}
	if g.version != "" {
		g.set("version", g.version)
	}
	for i, r := range g.ws.Resources {
		name := nodeNamed(r.Address())
		switch {
		case g.version != "" && r.Type == "machine":
			r.Values["version"] = driver.Ref{Resource: thisCluster, Attribute: "node." + name + ".version"}
		case g.learners[name] && r.Type == "etcd_member":
			g.ws.Resources[i].Type = "etcd_learner"
		}
	}
	g.two.Provider, g.two.Resources = g.provider("a b c d e f"), nil
	if g.theirs != "" {
		g.two.Resources = nodes([]string{"g"}, g.theirs)
		g.two.Resources[1].Values["peer_urls"] = []any{g.urls}
	}
	if g.backup.day > 0 {
		g.two.Resources = append(g.two.Resources, g.backup.resource())
	}
}

// nodeNamed is the name of the node in an address, "" without one.
func nodeNamed(address string) string {
	if name := quoted.FindStringSubmatch(address); name != nil {
		return name[1]
	}
	return ""
}

// nodes are machines and members without an etcd_cluster.
func nodes(all []string, image string) (out []driver.Resource) {
	for _, name := range all {
		m := member(name)
		m.Values["machine_id"] = driver.Ref{Resource: "machine." + name, Attribute: "id"}
		out = append(out, driver.Resource{Type: "machine", Name: name, Values: driver.Values{"name": name, "image": image}}, m)
	}
	return out
}

// all are the names in both configurations.
func (g *game) all() []string {
	out := slices.Clone(g.names)
	if g.theirs != "" {
		out = append(out, "g")
	}
	return out
}

// next is another name of the cluster.
func (g *game) next(name string) string { return g.names[(slices.Index(g.names, name)+1)%len(g.names)] }

// do plays a line.
func (g *game) do(line string) {
	line = strings.TrimSpace(line)
	g.lines = append(g.lines, line)
	words := strings.Fields(line)
	act := actions[words[0]]
	if act == nil {
		g.Fatalf("unknown action %q", words[0])
	}
	calls, commands, faults := g.calls, g.commands, g.faultsPrepared()
	if act(g, words[1:]); g.commands == commands {
		faults = nil
	}
	g.coverage.add(kindsOf(line), faults)
	// All members may wait for ten minutes in each command, each for all others.
	most := 1_000 * max(25, len(g.all())*len(g.all()))
	if n := g.calls - calls; n > most*max(1, g.commands-commands) {
		g.wrong(line, "%d requests: something polls", n)
	}
}

// over reports whether the game is over.
func (g *game) over() bool { return len(g.findings) > 0 || g.Failed() }

// heal lets everything return, and locks and windows expire.
func (g *game) heal() {
	g.fault.disarm(g)
	g.untaint()
	for _, p := range g.processes() {
		g.network.Heal("", p.ClientURL)
		g.network.Answer(p.ClientURL, g.answersAt(p.ClientURL))
	}
	g.network.Lax = false
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		g.fleet.start(name)
	}
	if g.replaces == "" {
		g.rest(3 * time.Hour) // every fault is over
	} else {
		g.rest(3 * time.Minute) // the window of a restored cluster is not
	}
	g.withdrawByHand()
}

// converge applies both workspaces until nothing is to do. Then all nodes vote. A machine
// that was wiped, or that never boots, does not start by itself: unless it is replaced
// after a time, a person replaces it, as the warning says, and in the end its node.
func (g *game) converge() {
	g.heal()
	for _, name := range g.unchecked {
		if !slices.Contains(g.all(), name) && g.ws.State(memberOf(name)) == nil {
			g.removeByHand(name)
		}
	}
	var last, theirs driver.Result
	done, patience := false, 4
	if g.after == "" {
		patience = 1
	}
	for i := 0; i < 4*len(g.names)+4 && !done && !g.over(); i++ {
		var opts, their []driver.Option
		if i > patience && theirs.Err() != nil { // the peers that its machine knows are gone
			their = append(their, driver.Replace("machine.g"))
		}
		if dead := g.dead(); i > patience && len(dead) > 0 {
			name := dead[i%len(dead)]
			opts = append(opts, driver.Replace(machineOf(name)))
			if i > patience+2*len(g.names) { // the peers that its node knows are gone
				g.rebuilt[name] = fmt.Sprint(i)
				g.configure()
			}
		}
		g.begin(g.all())
		g.commands += 2
		plan, r := g.ws.Up(g.Context(), g.start("one"), opts...)
		var other *driver.Plan
		other, theirs = g.two.Up(g.Context(), g.start("two"), their...)
		g.obey(r, "one", g.ws)
		g.obey(theirs, "two", g.two)
		g.restartMoved()
		done = r.Err() == nil && theirs.Err() == nil && len(plan.Actions())+len(other.Actions()) == 0 && len(g.dead()) == 0
		last.Diagnostics = append(r.Diagnostics, theirs.Diagnostics...)
		g.rest(15 * time.Minute)
	}
	if g.lost && len(g.dead()) == len(g.names) {
		return // a restored cluster that has not formed within its window: see choose-a-bootstrap.md
	}
	if got := g.listed(); !done || got != g.wantedList() || len(g.dead()) > 0 {
		g.wrong("both", "they do not converge: members %q of %q, dead %v: %v", got, g.wantedList(), g.dead(), last)
	}
	g.read()
}

// listed is list without the placeholder that a killed run has left: the next run that adds
// a member removes it.
func (g *game) listed() string {
	return strings.Replace(g.list(), "(http://learner-placeholder.invalid:2380) ", "", 1)
}

// wantedList is what listed returns in the end.
func (g *game) wantedList() string {
	names := g.all()
	for i, name := range names {
		if g.learners[name] && !g.voted[g.ids()[name]] {
			names[i] = "(" + name + ")"
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// dead are the names in the first workspace whose processes do not work.
func (g *game) dead() (out []string) {
	for _, name := range g.names {
		if m := g.fleet.of(name); m == nil || m.state != "" {
			out = append(out, name)
		}
	}
	return out
}

// healthy reports whether all members of the configuration vote and work.
func (g *game) healthy() bool {
	return g.listed() == g.wantedList() && len(g.dead()) == 0 && !slices.ContainsFunc(g.all(), func(n string) bool { return !g.works(n) })
}

// replay plays lines. What must not happen fails the test.
func replay(t *testing.T, seed uint64, lines ...string) {
	t.Helper()
	replays(t, seed, false, lines...)
}

// replays may return what must not happen in place of failing the test.
func replays(t *testing.T, seed uint64, keeps bool, lines ...string) []string {
	t.Helper()
	dir := t.TempDir()
	return try(t, seed, "", keeps, func(w *world) {
		g := newGame(w, dir)
		for _, line := range lines {
			if g.do(line); g.over() {
				return
			}
		}
	})
}
