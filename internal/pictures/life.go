// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package main

// phase is a state in the life of a member.
type phase struct {
	name string
	// status reports whether the name is a value of status of
	// etcd_member_config.
	status bool
	x, y   int
	tone   tone
}

// These are the columns and the rows of the picture.
const (
	column1, column2, column3, column4, column5 = 92, 287, 482, 677, 872
	row1, row2, row3                            = 142, 300, 446
	phaseWidth, phaseHeight                     = 120, 46
)

var phases = []phase{
	{"pending", true, column1, row1, absent},
	{"added", false, column2, row1, learning},
	{"started", false, column3, row1, learning},
	{"caught up", false, column4, row1, learning},
	{"voting", false, column5, row1, voting},
	{"stale", true, column2, row2, absent},
	{"unreachable", true, column5, row2, warned},
	{"retired", true, column3, row3, absent},
	{"removed", true, column4, row3, absent},
	{"failed", true, column5, row3, warned},
}

// actor is the cause of a state change.
type actor struct {
	name   string
	colour colour
}

var (
	terraform  = actor{"Terraform", grape}
	joinScript = actor{"join script", brown}
	etcd       = actor{"etcd", blue}
	you        = actor{"you", ink}
	chance     = actor{"failure", red}
	change     = actor{"the members change", ink}
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
	{etcd, []string{"copies the data"}, [][2]int{{column3 + half, row1}, {column4 - half, row1}}, (column3 + column4) / 2, above - 18, middle},
	{terraform, []string{"promotes it"}, [][2]int{{column4 + half, row1}, {column5 - half, row1}}, (column4 + column5) / 2, above - 18, middle},
	{joinScript, []string{"initial members: starts etcd, which forms the cluster"}, [][2]int{{column1, above}, {column1, 58}, {column5, 58}, {column5, above}}, column3, 32, middle},

	{change, []string{"before etcd starts"}, [][2]int{{column1 + 20, below}, {column1 + 20, row2}, {column2 - half, row2}}, column1 + 30, 204, left},
	{joinScript, []string{"starts etcd with the", "current members,", "once it is added"}, [][2]int{{column2 + half, row2}, {column3 - 28, row2}, {column3 - 28, below}}, column3 - 38, 204, right},
	{you, []string{"remove it", "with etcdctl"}, [][2]int{{column5 - 46, below}, {column5 - 46, 188}, {column3 + 24, 188}, {column3 + 24, row3 - phaseHeight/2}}, column3 + 34, 330, left},
	{terraform, []string{"moves leadership,", "removes it"}, [][2]int{{column5 - 30, below}, {column5 - 30, 212}, {column4, 212}, {column4, row3 - phaseHeight/2}}, column4 + 10, 270, left},
	{chance, []string{"of machine", "or network"}, [][2]int{{column5 + 4, below}, {column5 + 4, row2 - phaseHeight/2}}, column5 - 4, 232, right},
	{you, []string{"repair it"}, [][2]int{{column5 + 36, row2 - phaseHeight/2}, {column5 + 36, below}}, column5 + 46, 216, left},
	{terraform, []string{"declares it, after", "the time you set"}, [][2]int{{column5 + 4, row2 + phaseHeight/2}, {column5 + 4, row3 - phaseHeight/2}}, column5 - 4, 352, right},
	{terraform, []string{"removes it"}, [][2]int{{column5 - half, row3}, {column4 + half, row3}}, (column4 + column5) / 2, row3 - 40, middle},
	{terraform, []string{"replaces configuration, machine and member: a new member with a new ID"}, [][2]int{{column4, row3 + phaseHeight/2}, {column4, 506}, {column1 - 24, 506}, {column1 - 24, below}}, column1 - 12, 526, left},
}

// life draws the states of a member and the actors that change them.
func life(description string) string {
	c := newCanvas(620, description, tone{paper, ink})
	c.arrow(grape, [2]int{column3, row3 + phaseHeight/2}, [2]int{column3, 505})
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
		c.text(p.x, p.y+5, lettering{size: 15, fill: p.tone.text, anchor: middle, bold: true, mono: p.status}, p.name)
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
		{absent, "not in the member list"}, {learning, "learner: no vote"}, {voting, "voting"}, {warned, "voting, but unreachable"},
	} {
		if k.tone == absent {
			c.dashed(x, 568, 22, 18, k.tone)
		} else {
			c.box(x, 568, 22, 18, k.tone, muted)
		}
		c.text(x+30, 582, lettering{size: 13, fill: ink, anchor: left}, k.text)
		x += 56 + 7*len(k.text)
	}
	c.text(x, 582, lettering{size: 13, fill: ink, anchor: left, mono: true}, "status")
	c.text(x+56, 582, lettering{size: 13, fill: ink, anchor: left}, "in etcd_member_config")
}
