// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package main

// stage is one column of the picture.
type stage struct {
	names   []string // of the resources
	purpose string
	// created and destroyed describe etcd after the resource is created or destroyed.
	created, destroyed []string
}

var stages = []stage{
	{[]string{"etcd_discovery_token"}, "only without addresses",
		[]string{"nothing"}, []string{"no change"}},
	{[]string{"etcd_cluster"}, "how each etcd starts",
		[]string{"nothing"}, []string{"no change"}},
	{[]string{"your machine"}, "any resource",
		[]string{"initial members: voting", "new member: not listed yet"}, []string{"no change"}},
	{[]string{"etcd_member", "etcd_learner"}, "membership",
		[]string{"new member: learner,", "then promoted to voting"}, []string{"member removed, while", "its machine still runs"}},
}

// ordering shows the order in which Terraform creates and destroys.
func ordering(description string) string {
	const (
		first, wide, gap = 116, 205, 18
		up, boxes, down  = 40, 122, 286
		height           = 96
	)
	c := newCanvas(326, description, tone{paper, ink})
	label := lettering{size: 15, fill: muted, anchor: left}
	c.text(24, up+5, lettering{size: 17, fill: blue, anchor: left, bold: true}, "create")
	c.text(24, up+40, label, "then in etcd")
	c.text(24, down-42, label, "then in etcd")
	c.text(24, down+5, lettering{size: 17, fill: red, anchor: left, bold: true}, "destroy")
	at := func(i int) int { return first + i*(wide+gap) + wide/2 }
	c.arrow(blue, [2]int{at(0), up}, [2]int{at(len(stages)-1) + wide/2, up})
	c.arrow(red, [2]int{at(len(stages) - 1), down}, [2]int{at(0) - wide/2, down})
	small := lettering{size: 14, fill: ink, anchor: middle}
	for i, s := range stages {
		x := at(i)
		c.disc(x, up, blue, i+1)
		c.disc(x, down, red, len(stages)-i)
		for n, text := range s.created {
			c.text(x, up+40+18*n, small, text)
		}
		for n, text := range s.destroyed {
			c.text(x, down-42+18*n, small, text)
		}
		c.box(x-wide/2, boxes, wide, height, plain, muted)
		y := boxes + 44
		if len(s.names) > 1 {
			y = boxes + 26
			c.text(x, boxes+43, lettering{size: 13, fill: muted, anchor: middle}, "or")
			c.text(x, boxes+61, lettering{size: 15, fill: ink, anchor: middle, bold: true, mono: true}, s.names[1])
		}
		c.text(x, y, lettering{size: 15, fill: ink, anchor: middle, bold: true, mono: s.names[0] != "your machine"}, s.names[0])
		c.text(x, boxes+82, lettering{size: 14, fill: muted, anchor: middle}, s.purpose)
		if i > 0 {
			c.line(x-wide/2-gap, boxes+height/2, x-wide/2, boxes+height/2, muted)
		}
	}
	return c.svg()
}
