// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"fmt"
	"slices"
	"strings"
)

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

// promoting is a learner that is given a vote, and that may fail at any moment.
func (g *game) promoting() {
	name := g.unused()
	if name == "" {
		return
	}
	g.do("learner " + name)
	g.do("apply")
	g.do("wait " + one(g, "1s", "3m"))
	g.do("promote " + name)
	failure := one(g, "stop "+name, "lose "+name, "wipe "+name, "off "+name+" 600s", "split "+name+" 600s")
	switch at := 1 + g.random.IntN(80); {
	case g.chance(3):
		g.do("between " + failure)
	case g.chance(2) && strings.HasSuffix(failure, "s"):
		g.do(fmt.Sprintf("at %d %s", at, failure))
	case !strings.HasSuffix(failure, "s"):
		g.do(failure)
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
	g.do("apply " + one(g, "", "-replace="+machineOf(one(g, g.names...))))
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
