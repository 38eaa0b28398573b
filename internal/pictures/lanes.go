// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"fmt"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// state is the state of a node at one time.
type state byte

// These are the states of a node, as the letters of a lane.
const (
	votes    state = 'v'
	learns   state = 'l'
	rebuilt  state = 'm' // removed; its machine is replaced
	boots    state = 'b' // machine runs but is not added yet
	finished state = 'r' // removed; its machine is destroyed
	nowhere  state = '.'
)

// appearance is the style of a state.
type appearance struct {
	tone   tone
	dashed bool
	label  string
	legend string
}

var appearances = map[state]appearance{
	votes:    {voting, false, "voting", "voting member"},
	learns:   {learning, false, "learner", "learner, copies the data"},
	rebuilt:  {absent, true, "replaced", "removed, machine is replaced"},
	boots:    {absent, true, "waits", "machine boots and waits"},
	finished: {absent, true, "removed", "removed, machine is destroyed"},
}

// lane is one node over time: one letter per step.
type lane struct{ name, steps string }

// span is a number of steps with a common label.
type span struct {
	label string
	steps int
}

// replacement shows how the members of a cluster are replaced over time.
type replacement struct {
	lanes []lane
	// applies are the Terraform runs, from left to right. A span that is not a
	// run has an empty label.
	applies []span
}

var (
	rolling = replacement{
		lanes: []lane{
			{"a", "vmlvvvvvvvv"},
			{"b", "vvvvmlvvvvv"},
			{"c", "vvvvvvvmlvv"},
		},
		applies: []span{{"before", 1}, {"apply 1", 3}, {"apply 2", 3}, {"apply 3", 3}, {"after", 1}},
	}
	blueGreen = replacement{
		lanes: []lane{
			{"a", "vvvvvvr..."},
			{"b", "vvvvvvvr.."},
			{"c", "vvvvvvvvr."},
			{"x", ".blvvvvvvv"},
			{"y", ".bblvvvvvv"},
			{"z", ".bbblvvvvv"},
		},
		applies: []span{{"before", 1}, {"apply 1: add x, y, z", 5}, {"apply 2: remove a, b, c", 3}, {"after", 1}},
	}
)

// voters returns the number of voting members at each step.
func (r replacement) voters() []int {
	n := make([]int, len(r.lanes[0].steps))
	for _, l := range r.lanes {
		for i := range l.steps {
			if state(l.steps[i]) == votes {
				n[i]++
			}
		}
	}
	return n
}

// tolerated returns how many voting members may fail at each step.
func (r replacement) tolerated() []int {
	n := r.voters()
	for i, voters := range n {
		n[i] = voters - membership.Quorum(voters)
	}
	return n
}

// runs joins equal neighbours.
func runs[T comparable](values []T, label func(T) string) []span {
	var out []span
	for i, v := range values {
		if i == 0 || v != values[i-1] {
			out = append(out, span{label: label(v)})
		}
		out[len(out)-1].steps++
	}
	return out
}

// swimLanes draws a replacement. Above it, it shows the failures that the
// cluster tolerates.
func swimLanes(description string, r replacement) string {
	const (
		names, end   = 186, 990
		strip, lanes = 50, 134
		laneY        = 44
	)
	bottom := lanes + laneY*len(r.lanes)
	c := newCanvas(bottom+54, description, tone{paper, ink})
	steps := len(r.lanes[0].steps)
	x := func(step int) int { return names + (end-names)*step/steps }
	label := lettering{size: 14, fill: ink, anchor: right}

	step := 0
	for _, a := range r.applies {
		c.text((x(step)+x(step+a.steps))/2, strip-18, lettering{size: 14, fill: muted, anchor: middle, bold: true}, a.label)
		if step > 0 {
			c.line(x(step), strip-34, x(step), bottom-6, edge)
		}
		step += a.steps
	}
	number := func(n int) string { return fmt.Sprint(n) }
	c.text(names-12, strip+21, label, "voting members")
	c.cells(strip, runs(r.voters(), number), x, func(string) tone { return plain })
	c.text(names-12, strip+57, label, "failures tolerated")
	c.cells(strip+36, runs(r.tolerated(), number), x, func(n string) tone {
		if n == "0" {
			return warned
		}
		return calm
	})
	used := map[state]bool{}
	for i, l := range r.lanes {
		y := lanes + laneY*i
		c.text(names-12, y+22, lettering{size: 15, fill: ink, anchor: right, bold: true}, "node "+l.name)
		step := 0
		for _, s := range runs([]byte(l.steps), func(b byte) string { return string(b) }) {
			is := state(s.label[0])
			if used[is] = true; is != nowhere {
				c.segment(x(step)+2, y, x(step+s.steps)-x(step)-4, appearances[is])
			}
			step += s.steps
		}
	}
	c.legend(bottom+14, used)
	return c.svg()
}

// cells draws numbers, each for a number of steps.
func (c *canvas) cells(y int, numbers []span, x func(int) int, of func(string) tone) {
	step := 0
	for _, n := range numbers {
		from, to := x(step), x(step+n.steps)
		step += n.steps
		t := of(n.label)
		c.box(from+2, y, to-from-4, 30, t, edge)
		c.text((from+to)/2, y+21, lettering{size: 16, fill: t.text, anchor: middle, bold: true}, n.label)
	}
}

// segment draws one state of a node.
func (c *canvas) segment(x, y, width int, a appearance) {
	const height = 32
	if a.dashed {
		c.dashed(x, y, width, height, a.tone)
	} else {
		c.box(x, y, width, height, a.tone, muted)
	}
	c.text(x+width/2, y+height/2+5, lettering{size: 13, fill: a.tone.text, anchor: middle}, a.label)
}

// legend explains the states.
func (c *canvas) legend(y int, used map[state]bool) {
	x := 24
	for _, s := range []state{votes, learns, rebuilt, boots, finished} {
		if !used[s] {
			continue
		}
		a := appearances[s]
		if a.dashed {
			c.dashed(x, y, 22, 18, a.tone)
		} else {
			c.box(x, y, 22, 18, a.tone, muted)
		}
		c.text(x+30, y+14, lettering{size: 13, fill: ink, anchor: left}, a.legend)
		x += 60 + 7*len(a.legend)
	}
}
