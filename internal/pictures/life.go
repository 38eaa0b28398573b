// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package main

// phase is a status of a node.
type phase struct {
	name string
	x, y int
	tone tone
}

// These are the columns and the rows of the picture.
const (
	column1, column2, column3, column4, column5 = 92, 287, 482, 677, 872
	row1, row2, row3                            = 142, 300, 446
	phaseWidth, phaseHeight                     = 120, 46
)

var phases = []phase{
	{"pending", column1, row1, absent},
	{"added", column2, row1, learning},
	{"learner", column3, row1, learning},
	{"voter", column5, row1, voting},
	{"unreachable", column5, row2, warned},
	{"failed", column5, row3, warned},
	{"replacing", column4, row3, absent},
}

// actor is the cause of a state change.
type actor struct {
	name   string
	colour colour
}

var (
	terraform  = actor{"Terraform", grape}
	joinScript = actor{"join script", brown}
	you        = actor{"you", ink}
	chance     = actor{"failure", red}
)

// passage is an arrow with the actor and the action.
type passage struct {
	who    actor
	what   []string
	path   [][2]int
	x, y   int // of the label
	anchor string
}

const (
	half  = phaseWidth / 2
	above = row1 - phaseHeight/2
	below = row1 + phaseHeight/2
)

var passages = []passage{
	{terraform, []string{"adds it"}, [][2]int{{column1 + half, row1}, {column2 - half, row1}}, (column1 + column2) / 2, above - 18, middle},
	{joinScript, []string{"starts etcd"}, [][2]int{{column2 + half, row1}, {column3 - half, row1}}, (column2 + column3) / 2, above - 18, middle},
	{terraform, []string{"promotes it, when it has all data"}, [][2]int{{column3 + half, row1}, {column5 - half, row1}}, column4, above - 18, middle},
	{joinScript, []string{"initial members: starts etcd, which forms the cluster"}, [][2]int{{column1, above}, {column1, 58}, {column5, 58}, {column5, above}}, column3, 32, middle},

	{chance, []string{"of machine", "or network"}, [][2]int{{column5 + 4, below}, {column5 + 4, row2 - phaseHeight/2}}, column5 - 4, 232, right},
	{you, []string{"repair it"}, [][2]int{{column5 + 36, row2 - phaseHeight/2}, {column5 + 36, below}}, column5 + 46, 216, left},
	{terraform, []string{"declares it, after", "the time you set"}, [][2]int{{column5 + 4, row2 + phaseHeight/2}, {column5 + 4, row3 - phaseHeight/2}}, column5 - 4, 352, right},
	{terraform, []string{"removes it"}, [][2]int{{column5 - half, row3}, {column4 + half, row3}}, (column4 + column5) / 2, row3 - 40, middle},
	{terraform, []string{"moves", "leadership,", "removes it"}, [][2]int{{column5 - 30, below}, {column5 - 30, 212}, {column4 + 20, 212}, {column4 + 20, row3 - phaseHeight/2}}, column4 + 30, 262, left},
	{terraform, []string{"adds it on the new machine,", "with a new member ID,", "promotes it"}, [][2]int{{column4 - 20, row3 - phaseHeight/2}, {column4 - 20, 188}, {column5 - 46, 188}, {column5 - 46, below}}, column4 - 30, 270, right},
}

// life draws the statuses of a node and the actors that change them.
func life(description string) string {
	c := newCanvas(550, description, tone{paper, ink})
	for _, p := range passages {
		c.arrow(p.who.colour, p.path...)
		c.text(p.x, p.y, lettering{size: 13, fill: p.who.colour, anchor: p.anchor, bold: true}, p.who.name)
		for i, line := range p.what {
			c.text(p.x, p.y+16*(i+1), lettering{size: 13, fill: ink, anchor: p.anchor}, line)
		}
	}
	for _, p := range phases {
		x, y := p.x-half, p.y-phaseHeight/2
		if p.tone == absent {
			c.dashed(x, y, phaseWidth, phaseHeight, p.tone)
		} else {
			c.box(x, y, phaseWidth, phaseHeight, p.tone, muted)
		}
		c.text(p.x, p.y+5, lettering{size: 15, fill: p.tone.text, anchor: middle, bold: true, mono: true}, p.name)
	}
	c.key()
	return c.svg()
}

// key explains the areas and the fonts of the picture.
func (c *canvas) key() {
	x := 32
	for _, k := range []struct {
		tone tone
		text string
	}{
		{absent, "no member, or not yet"}, {learning, "learner: no vote"}, {voting, "voting"}, {warned, "voting, but unreachable"},
	} {
		if k.tone == absent {
			c.dashed(x, 498, 22, 18, k.tone)
		} else {
			c.box(x, 498, 22, 18, k.tone, muted)
		}
		c.text(x+30, 512, lettering{size: 13, fill: ink, anchor: left}, k.text)
		x += 56 + 7*len(k.text)
	}
	c.text(x, 512, lettering{size: 13, fill: ink, anchor: left, mono: true}, "status")
	c.text(x+56, 512, lettering{size: 13, fill: ink, anchor: left}, "in etcd_cluster")
}
