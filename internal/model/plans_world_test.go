// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package model

import (
	"fmt"
	"slices"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// The steps of the model are whole commands (an apply of everything or of targets,
// with replacements; a resource dropped from the state or tainted; all
// configurations changed) on three members whose resources use for_each. The contents of a plan are up to Terraform and are
// restated here. membership.GuardPlan, GuardNode, InTheWay and Identify decide
// about refusals, DecideRemove and DecideWithdraw about removals.

// places is the number of members.
const places = 3

// part is a resource: the one that all nodes share, or one of a node.
type part uint8

const (
	bootPart part = iota
	configPart
	machinePart
	memberPart
)

var partNames = []string{"bootstrap", "configuration", "machine", "member"}

// held is the status of a resource in the state.
type held uint8

const (
	kept held = iota
	absent
	tainted
)

// place is a node: its resources in the state, and the real objects.
type place struct {
	state [memberPart + 1]held // without the bootstrap
	// config is the configuration that the state has, or had last; machine is
	// the configuration for which the machine was created.
	config, machine uint8
	// changed: the text has a different configuration.
	changed bool
	// listed: it is a member, as config; alive: the member runs.
	listed, alive bool
	member        uint8
	// left: the record says that Terraform has removed the member.
	left bool
}

// typed is everything on which a command depends. It is comparable.
type typed struct {
	places [places]place
	boot   held
	// formed: the bootstrap in the state is that of the cluster.
	formed bool
}

func newTyped() typed {
	w := typed{formed: true}
	for i := range w.places {
		w.places[i].listed, w.places[i].alive = true, true
	}
	return w
}

// living returns the number of voters, and how many of them are alive.
func (w typed) living() (voters, alive int) {
	for _, p := range w.places {
		if p.listed {
			voters++
			if p.alive {
				alive++
			}
		}
	}
	return voters, alive
}

func (w typed) quorum() bool {
	voters, alive := w.living()
	return 2*alive > voters
}

// ownership returns the contents of the record of the node's configuration.
func (p place) ownership(n uint8) membership.Ownership {
	switch {
	case p.listed && p.member == p.config:
		return membership.Ownership{Recorded: true, ID: idOf(n, p.member), PeerURLs: []string{urlOf(n)}, Retired: true}
	case p.left:
		return membership.Ownership{Recorded: true, ID: idOf(n, p.config), PeerURLs: []string{urlOf(n)}, Removed: true, Retired: true}
	default:
		return membership.Ownership{}
	}
}

// command is a command that a user types.
type command struct {
	what string
	// targets and replaced are the arguments of the command. An apply of
	// everything has no targets.
	targets, replaced []address
}

type address struct {
	part  part
	place uint8
}

func (a address) String() string {
	if a.part == bootPart {
		return partNames[a.part]
	}
	return fmt.Sprintf("%s of %s", partNames[a.part], nameOf(a.place))
}

func (c command) String() string {
	text := c.what
	if len(c.targets) > 0 {
		text += fmt.Sprintf(" -target %v", c.targets)
	}
	if len(c.replaced) > 0 {
		text += fmt.Sprintf(" -replace %v", c.replaced)
	}
	return text
}

// everywhere returns the addresses of all resources.
func everywhere() []address {
	out := []address{{part: bootPart}}
	for i := range uint8(places) {
		out = append(out, address{configPart, i}, address{machinePart, i}, address{memberPart, i})
	}
	return out
}

// commands returns all commands of the search.
func commands() []command {
	out := []command{{what: "apply"}, {what: "change all"}, {what: "change back"}}
	for _, a := range everywhere() {
		out = append(out, command{what: "taint", targets: []address{a}})
		if a.part != machinePart { // a user who drops a machine has to import it
			out = append(out, command{what: "state rm", targets: []address{a}})
		}
		out = append(out, command{what: "apply", targets: []address{a}}, command{what: "apply", replaced: []address{a}})
		for _, b := range everywhere() {
			out = append(out, command{what: "apply", targets: []address{a}, replaced: []address{b}})
			if a.part == b.part && a.place < b.place {
				out = append(out, command{what: "apply", replaced: []address{a, b}}, command{what: "apply", targets: []address{a, b}})
			}
		}
	}
	return out
}

// planned is the effect of a plan on the resources of a node.
type planned struct {
	inPlan [memberPart + 1]bool
	// made: a new object is created; it replaces the one in the state if gone.
	made, gone [memberPart + 1]bool
}

// plan returns Terraform's plan for a command. With for_each, a target includes
// every instance of its dependencies.
func (w typed) plan(c command) (nodes [places]planned, boot bool) {
	is := func(list []address, a address) bool { return slices.Contains(list, a) }
	whole := [memberPart + 1]bool{}
	for _, t := range c.targets {
		for p := bootPart; p < t.part; p++ {
			whole[p] = true
		}
	}
	all := len(c.targets) == 0
	boot = (all || whole[bootPart] || is(c.targets, address{part: bootPart})) && (w.boot != kept || is(c.replaced, address{part: bootPart}))
	for i, p := range w.places {
		n := &nodes[i]
		for part := configPart; part <= memberPart; part++ {
			at := address{part, uint8(i)}
			if !all && !whole[part] && !is(c.targets, at) {
				continue
			}
			n.inPlan[part] = true
			var follows bool // one of its dependencies changes
			switch part {
			case configPart:
				follows = p.changed
			case machinePart:
				follows = n.made[configPart] || p.machine != p.config
			case memberPart:
				follows = n.made[configPart]
			}
			n.made[part] = p.state[part] != kept || follows || is(c.replaced, at)
			n.gone[part] = n.made[part] && p.state[part] != absent
		}
	}
	return nodes, boot
}
