// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
)

// one picks an element.
func one[T any](g *game, of ...T) T { return of[g.random.IntN(len(of))] }

// chance is true once in n times.
func (g *game) chance(n int) bool { return g.random.IntN(n) == 0 }

// begin plays the first lines of a game.
func (g *game) beginning() {
	if g.chance(4) {
		g.do("parallelism 1")
	}
	if g.chance(2) {
		g.do("latency 20ms")
	}
	if g.chance(2) {
		g.do("after 10m")
	}
	if g.chance(3) {
		g.do("version 3.6.16")
	}
	g.do("form " + strings.Join(strings.Split("abcde"[:one(g, 3, 3, 3, 4, 5)], ""), " "))
	g.do(fmt.Sprintf("wait %dm", 1+g.random.IntN(40)))
}

// choose plays lines up to the next command. What takes a node away for good happens to a
// healthy cluster only.
func (g *game) choose() {
	if g.chance(8) {
		one(g, stories...)(g)
		return
	}
	edit := g.chooseEdit()
	switch {
	case strings.HasPrefix(edit, "add ") && g.chance(4):
		g.do(strings.Replace(edit, "add ", "foreign ", 1))
		fallthrough
	case edit != "":
		g.do(edit)
	}
	if g.chance(6) {
		if g.theirs != "" && g.chance(3) {
			g.do("moved")
		} else {
			g.do(g.chooseLoss())
		}
	}
	g.chooseFault()
	opts := g.chooseState()
	if g.chance(4) {
		opts += " " + g.chooseState()
	}
	g.do(g.chooseCommand() + " " + opts)
	g.do("wait " + one(g, "1s", "30s", "3m", "20m"))
}

// chooseState changes the state, or chooses options.
func (g *game) chooseState() (opts string) {
	name := one(g, g.names...)
	of := func(typ string) string { return typ + `.node["` + name + `"]` }
	switch g.random.IntN(15) {
	case 0, 1:
		opts = "-replace=" + of("machine")
	case 2:
		opts = "-replace=" + of("etcd_member")
	case 3:
		opts = "-replace=" + of("machine") + " -replace=" + machineOf(g.next(name))
	case 4:
		g.do("taint " + of("machine"))
	case 5:
		g.do("taint " + of("etcd_member"))
		g.do("taint " + memberOf(g.next(name)))
	case 6:
		g.do("taint etcd_cluster.this")
	case 7:
		g.do("forget " + of("etcd_member"))
		if again := one(g, "", "", "import ", "imports "); again != "" {
			g.do(again + name)
		}
	case 10:
		g.do(one(g, "persist", "older"))
	case 11:
		if len(g.learners) > 0 {
			g.do("vote " + one(g, slices.Sorted(maps.Keys(g.learners))...))
		}
	case 8, 9:
		opts = "-target=" + one(g, thisCluster, of("machine"), of("etcd_member"))
	}
	if g.chance(5) {
		opts += " -refresh=false"
	}
	return strings.TrimSpace(opts)
}

// chooseCommand chooses the command, without options.
func (g *game) chooseCommand() string {
	if g.backup.day > 0 && g.chance(4) {
		return "beside"
	}
	switch g.random.IntN(20) {
	case 0, 1:
		return "saved " + one(g, "1s", "3m", "20m", "48h")
	case 2, 3:
		return "beside"
	case 4:
		return "plan"
	case 5:
		return "refresh"
	}
	return "apply"
}

func (g *game) chooseEdit() string {
	switch g.random.IntN(14) {
	case 0, 1, 2:
		return "image " + fmt.Sprint(g.random.IntN(4))
	case 3, 4:
		if name := g.unused(); name != "" {
			return one(g, "add ", "add ", "learner ") + name
		}
	case 5:
		if len(g.names) > one(g, 1, 2, 3, 3) {
			return "drop " + one(g, g.names...)
		}
	case 6:
		return "rebuild " + one(g, g.names...)
	case 7:
		return "theirs " + one(g, "1", "2", "none")
	case 8:
		if g.version != "" {
			return "version " + one(g, "3.6.16", "3.6.17")
		}
	case 9:
		return "address " + one(g, g.names...)
	case 10:
		for _, name := range g.names {
			if g.learners[name] {
				return "promote " + name
			}
		}
	case 11:
		return "after " + one(g, "10m", "none")
	case 12:
		if g.theirs != "" {
			return "urls " + one(g, "2380", "3380")
		}
	case 13:
		g.do("day")
		return one(g, "", "swap")
	}
	return ""
}

// chooseLoss is a node that is lost until a person acts.
func (g *game) chooseLoss() string {
	return one(g, "lose ", "wipe ", "blank ", "remove ", "stop ") + one(g, g.names...)
}

func (g *game) chooseFault() {
	at := 1 + g.random.IntN(40*(1+g.random.IntN(4)))
	switch g.random.IntN(15) {
	case 0, 1:
		g.do(fmt.Sprintf("at %d kill", at))
	case 2:
		g.do(fmt.Sprintf("at %d freeze", at))
	case 3:
		g.do(fmt.Sprintf("at %d lose", 1+g.random.IntN(12)))
	case 4:
		g.do(fmt.Sprintf("at %d interrupt", at))
	case 5, 6, 7:
		g.do(fmt.Sprintf("at %d %s", at, g.chooseFailure()))
	case 8, 9, 10:
		g.do("between " + one(g, g.chooseLoss(), g.chooseFailure()))
	case 11:
		g.do("broken")
	case 12:
		g.do(one(g, "silence", "silence", "swap", "ca"))
		if g.chance(3) {
			g.do("between open")
		}
	case 13, 14:
		g.do("at lock " + one(g, "kill", "interrupt", g.chooseFailure(), g.chooseFailure()))
	}
}

// chooseFailure is a node that fails for a time.
func (g *game) chooseFailure() string {
	return fmt.Sprintf("%s %s %ds", one(g, "off", "off", "stuck", "split", "hidden", "other"), one(g, g.names...), 1<<g.random.IntN(12))
}

// play plays a game from a seed.
func (g *game) play(seed uint64) {
	g.random = rand.New(rand.NewPCG(seed, 2))
	story, told := g.random.IntN(8), false
	for g.beginning(); g.commands < 14 && !g.over(); {
		if !told && g.commands > story {
			told = true
			stories[seed%uint64(len(stories))](g)
			continue
		}
		g.choose()
	}
	for len(g.names) < 3 && !g.over() { // smaller ones do not roll
		g.do("add " + g.unused())
	}
	switch end := g.random.IntN(12); {
	case g.over():
	case end == 0:
		g.chooseFault()
		g.do("clone " + g.chooseState()) // two states of one cluster
	case end == 1:
		g.chooseFault()
		g.do("destroy")
		g.do("wait 20m")
		fallthrough
	default:
		g.do("converge")
	}
}

// search plays the game of a seed. A finding is shortened, and printed as a test.
func search(t *testing.T, seed uint64) (log []string, commands int, pairs *coverage) {
	var lines []string
	dir := t.TempDir()
	found := try(t, seed, "", true, func(w *world) {
		g := newGame(w, dir)
		defer func() { lines, commands, log, pairs = g.lines, g.commands, w.schedule.Log(), &g.coverage }()
		g.play(seed)
	})
	if len(found) > 0 {
		lines, found = shorten(t, seed, lines, found)
		t.Errorf("%s\n\nA test of it:\n\n%s", strings.Join(found, "\n"), asTest(seed, lines))
	}
	return log, commands, pairs
}

// asTest is a game as a test.
func asTest(seed uint64, lines []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "func TestFound(t *testing.T) {\n\treplay(t, %d,\n", seed)
	for _, line := range lines {
		fmt.Fprintf(&b, "\t\t%q,\n", line)
	}
	return b.String() + "\t)\n}\n"
}

// shorten leaves out lines as long as there is a finding.
func shorten(t *testing.T, seed uint64, lines, found []string) (short, shortFound []string) {
	tries := 40
	for size := (len(lines) + 1) / 2; size > 0; size /= 2 {
		for from := len(lines) - size; from >= 0; from -= size {
			less := slices.Delete(slices.Clone(lines), from, from+size)
			if tries--; tries < 0 {
				return lines, found
			}
			if !slices.ContainsFunc(less, func(l string) bool { return strings.HasPrefix(l, "form ") }) {
				continue
			}
			if still := replays(t, seed, true, less...); len(still) > 0 {
				lines, found = less, still
			}
		}
	}
	return lines, found
}

// TestSearch plays games from seeds.
func TestSearch(t *testing.T) {
	t.Parallel()
	seeds, least := uint64(235), int64(5000)
	if etcdtest.Full() {
		seeds, least = 5000, 100_000
	}
	var commands, played atomic.Int64
	var all coverage
	t.Run("seed", func(t *testing.T) {
		for seed := range seeds {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				_, n, pairs := search(t, seed)
				all.join(pairs)
				commands.Add(int64(n))
				played.Add(1)
			})
		}
	})
	t.Logf("%d commands\n%s", commands.Load(), &all)
	if played.Load() == int64(seeds) && commands.Load() < least { // -run may select some
		t.Errorf("%d commands, want %d", commands.Load(), least)
	}
}

// stories are lines that belong together: what they need would seldom come about by lines
// that are chosen one by one. Each game tells one, the next seed the next one.
var stories = []func(*game){(*game).restoring, (*game).promoting, (*game).moving, (*game).backing, (*game).rolling}

// unused is the first name that the configuration does not have, "" without one.
func (g *game) unused() string {
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		if !slices.Contains(g.names, name) {
			return name
		}
	}
	return ""
}

// restoring is a cluster that loses its quorum, or does not, and a restore that ends, is
// killed, or is withdrawn.
func (g *game) restoring() {
	names := slices.Clone(g.names)
	g.random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	names = names[:one(g, len(names)/2+1, len(names), len(names))]
	if g.chance(4) {
		g.do(one(g, "silence", "swap", "ca"))
	} else {
		g.do("power " + strings.Join(names, " "))
	}
	g.do("restore " + strings.Join(names, " "))
	switch returns := "boot " + strings.Join(names, " "); g.random.IntN(5) {
	case 0:
		g.do("between " + returns)
		g.do("between wait 3m")
	case 1, 2:
		g.do(returns)
		g.do("wait 3m")
		g.do("ca")
	}
	for range 1 + g.random.IntN(3) {
		if g.chance(2) {
			g.do(fmt.Sprintf("at %d %s", 1+g.random.IntN(120), one(g, "kill", "interrupt")))
		}
		g.do("apply " + one(g, "", "", "-target=etcd_cluster.this", "-target="+machineOf(names[0]), "-refresh=false"))
		if g.chance(3) {
			g.do("boot " + strings.Join(names, " "))
		}
		g.do("wait " + one(g, "30s", "3m"))
	}
	if g.chance(2) {
		g.do("keep")
	}
}

// promoting is a learner that is given a vote while it or a voter is dead, or fails.
func (g *game) promoting() {
	name := g.unused()
	if name == "" {
		return
	}
	g.do("learner " + name)
	g.do("apply")
	g.do("wait " + one(g, "1s", "3m"))
	fails := one(g, name, one(g, g.names...))
	if g.chance(2) {
		g.do(one(g, "stop ", "lose ", "wipe ") + fails)
	}
	g.do("promote " + name)
	switch failure := one(g, "off ", "split ") + fails + " 600s"; g.random.IntN(3) {
	case 0:
		g.do("between " + failure)
	case 1:
		g.do(fmt.Sprintf("at %d %s", 1+g.random.IntN(80), failure))
	}
	g.do("apply")
	g.do("wait 3m")
}

// moving is a member whose peer URL changes in place, and a change of another one before
// it has started with the new one.
func (g *game) moving() {
	if g.theirs == "" {
		g.do("theirs 1")
		g.do("two")
		g.do("wait 3m")
	}
	g.do("urls " + one(g, "2380", "3380"))
	g.do("two")
	if edit := g.chooseEdit(); edit != "" {
		g.do(edit)
	}
	g.do("apply " + one(g, "", "-target="+thisCluster, "-replace="+machineOf(one(g, g.names...))))
	g.do("wait " + one(g, "1s", "3m"))
	g.do("moved")
}

// rolling is a cluster of five, in which a member is lost or on its way while others are to
// be replaced.
func (g *game) rolling() {
	for len(g.names) < 5 {
		g.do("add " + g.unused())
	}
	g.do("apply")
	g.do("wait 3m")
	names := slices.Clone(g.names)
	g.random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	g.do("rebuild " + names[0])
	switch g.random.IntN(5) {
	case 0:
		g.do(g.chooseLoss())
	case 1:
		g.do("broken")
		g.do("apply")
	case 2: // the removal is decided, and decided again
		g.do("at lock off " + names[1] + "," + names[2] + " 600s")
		g.do("apply")
	default: // after its removal, if all goes well
		g.do(fmt.Sprintf("at %d kill", 30+g.random.IntN(90)))
		g.do("apply")
	}
	g.do("rebuild " + names[1])
	replace := "-replace=" + machineOf(names[1])
	g.do("apply " + one(g, "-target=etcd_cluster.this", replace, replace+" -refresh=false"))
	g.do("wait " + one(g, "1s", "3m"))
}

// backing is a backup of every day, from whatever answers.
func (g *game) backing() {
	for range 1 + g.random.IntN(3) {
		g.do("day")
		if g.chance(2) {
			g.do(one(g, "swap", "ca", "silence"))
		}
		g.do("two")
	}
}
