// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"fmt"
	"slices"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
)

// editKinds returns the edits of a configuration. None of them runs a command.
func editKinds() []kind {
	return []kind{
		{name: "add", weight: 4, run: add("member", false)},
		{name: "add learner", weight: 2, run: add("learner", false)},
		{name: "add promoted learner", weight: 1, run: add("learner", true)},
		{name: "promote or demote", weight: 1, run: (*actor).promote},
		{name: "remove", weight: 4, run: (*actor).removeNode},
		{name: "rename", weight: 3, run: rename(false)},
		{name: "rename with moved", weight: 3, run: rename(true)},
		{name: "recount", weight: 2, run: recount(false)},
		{name: "recount with moved", weight: 2, run: recount(true)},
		{name: "image", weight: 3, pair: true, run: (*actor).changeImage},
		{name: "trigger", weight: 4, pair: true, run: edit(func(n *acctest.Node) { n.Config += "+" })},
		{name: "trigger all", weight: 8, run: (*actor).triggerAll},
		{name: "peer URL", weight: 3, pair: true, run: (*actor).readdress},
		{name: "swap addresses", weight: 3, run: (*actor).swap},
		{name: "founders", weight: 2, run: (*actor).changeFounders},
		{name: "drop machine_id", weight: 2, run: drop("etcd_member", "machine_id")},
		{name: "give machine_id with another image", weight: 1, run: (*actor).giveMachine},
		{name: "drop client_urls", weight: 2, run: drop("etcd_member_config", "client_urls")},
		{name: "removed block", weight: 2, run: (*actor).giveUp},
		{name: "undo", weight: 3, run: (*actor).undo},
	}
}

// edit changes one or two nodes.
func edit(change func(n *acctest.Node)) func(*actor, deed) bool {
	return func(a *actor, s deed) bool {
		for _, key := range []string{a.key(s), a.second(s)} {
			if n, ok := a.now.nodes[key]; ok {
				change(&n)
				a.now.nodes[key] = n
			}
		}
		return true
	}
}

// largestSoak is the maximum number of nodes of a configuration.
const largestSoak = 6

// free returns a key that no node has or had.
func (a *actor) free() string {
	for i := 0; ; i++ {
		name := fmt.Sprintf("n%d", i)
		if !a.used[name] {
			a.used[name] = true
			return name
		}
	}
}

func add(joins string, promote bool) func(*actor, deed) bool {
	return func(a *actor, _ deed) bool {
		if len(a.now.nodes) >= largestSoak || joins == "learner" && a.now.layout == counted {
			return false
		}
		name := a.free()
		a.Add(name)
		n := *a.Nodes[name]
		n.Create, n.Delete, n.Joins, n.Promote = "60s", "45s", "", promote
		if joins == "learner" {
			n.Joins = joins
		}
		a.now.nodes[name] = n
		return true
	}
}

// promote inverts promote of a learner.
func (a *actor) promote(s deed) bool {
	for i := range a.now.keys() {
		s.who += min(i, 1)
		if n := a.now.nodes[a.key(s)]; n.Joins == "learner" {
			n.Promote = !n.Promote
			a.now.nodes[a.key(s)] = n
			return true
		}
	}
	return false
}

// promoteStandbys promotes the learners to free the learner slot.
func (a *actor) promoteStandbys() {
	for key, n := range a.now.nodes {
		if n.Joins == "learner" {
			a.tr.Logf("THE WAY OUT: promotes %s", key)
			n.Promote = true
			a.now.nodes[key] = n
		}
	}
}

// removeNode removes a node.
func (a *actor) removeNode(s deed) bool {
	key := a.key(s)
	if len(a.now.nodes) < 2 {
		return false
	}
	n := a.now.nodes[key]
	delete(a.now.nodes, key)
	if !a.endures() {
		a.now.nodes[key] = n
		return false
	}
	return true
}

// lost returns the members that lose their machines: the configuration no
// longer has a node for them, and the state no member, or the configuration
// gives the members up. The provider does not see this.
func (a *actor) lost() (names []string) {
	for _, e := range a.entries() {
		if e.resource == "terraform_data" && !a.now.has(e.member) && !a.protects(e.member) && a.idIn(e.member) != 0 {
			names = append(names, e.member)
		}
	}
	return names
}

// endures reports whether the cluster survives the edit. It loses at most one
// machine, which it can spare, and the configuration in the state makes the
// provider remove the member afterwards.
func (a *actor) endures() bool {
	lost := a.lost()
	return len(lost) == 0 || len(lost) == 1 && a.holds(lost[0], "etcd_member_config") && a.spares(lost[0])
}

// protects reports whether a member is removed before its machine is destroyed:
// the state has it, and the configuration has not given it up.
func (a *actor) protects(name string) bool {
	return !a.now.removed && a.holds(name, "etcd_member", "etcd_learner")
}

// holds reports whether the state has one of these resources for a member.
func (a *actor) holds(name string, resources ...string) bool {
	for _, e := range a.entries() {
		if e.member == name && slices.Contains(resources, e.resource) {
			return true
		}
	}
	return false
}

// rename gives a node another key. Its member keeps its name.
func rename(tell bool) func(*actor, deed) bool {
	return func(a *actor, s deed) bool {
		was, now := a.key(s), a.free()
		n := a.now.nodes[was]
		n.Name = a.now.memberName(was)
		delete(a.now.nodes, was)
		a.now.nodes[now] = n
		a.tell(tell)
		return true
	}
}

// recount changes for_each to count, or back.
func recount(tell bool) func(*actor, deed) bool {
	return func(a *actor, _ deed) bool {
		learns := slices.ContainsFunc(a.now.keys(), func(key string) bool { return a.now.nodes[key].Joins == "learner" })
		switch {
		case a.now.layout == counted:
			a.now.layout = flat
		case a.now.layout == flat && !learns:
			a.now.layout = counted
		default:
			return false
		}
		a.tell(tell)
		return true
	}
}

// tell writes moved blocks for all resources with a changed address.
func (a *actor) tell(really bool) {
	a.now.moved = ""
	if really {
		a.write()
		a.now.moved = a.movedBlocks()
	}
}

func (a *actor) changeImage(s deed) bool {
	return !a.unbound() && edit(func(n *acctest.Node) { n.Image += "+" })(a, s)
}

func (a *actor) triggerAll(deed) bool {
	for _, key := range a.now.keys() {
		n := a.now.nodes[key]
		n.Config += "+"
		a.now.nodes[key] = n
	}
	return true
}

// readdress gives one or two nodes another peer URL.
func (a *actor) readdress(s deed) bool {
	return edit(func(n *acctest.Node) {
		a.Add("elsewhere")
		n.Peer = a.Nodes["elsewhere"].Peer
		delete(a.Nodes, "elsewhere")
	})(a, s)
}

// swap exchanges the addresses of two nodes.
func (a *actor) swap(s deed) bool {
	s.also = max(1, s.also)
	one, other := a.key(s), a.second(s)
	if other == "" {
		return false
	}
	m, n := a.now.nodes[one], a.now.nodes[other]
	m.Client, m.Peer, n.Client, n.Peer = n.Client, n.Peer, m.Client, m.Peer
	a.now.nodes[one], a.now.nodes[other] = m, n
	return true
}

// changeFounders removes a founder from the list, or adds one.
func (a *actor) changeFounders(s deed) bool {
	key := a.key(s)
	if i := slices.Index(a.now.founders, key); i >= 0 && len(a.now.founders) > 1 {
		a.now.founders = slices.Delete(slices.Clone(a.now.founders), i, i+1)
	} else if i < 0 {
		a.now.founders = append(slices.Clone(a.now.founders), key)
	}
	return true
}

func drop(resource, argument string) func(*actor, deed) bool {
	return func(a *actor, _ deed) bool {
		if argument == "machine_id" && a.machinesAlone() {
			return false
		}
		a.now.without[resource] = argument
		return true
	}
}

// giveMachine restores a dropped machine_id in the same edit as another image.
func (a *actor) giveMachine(s deed) bool {
	if a.base.removed || a.now.removed || a.base.without["etcd_member"] != "machine_id" {
		return false
	}
	delete(a.now.without, "etcd_member")
	return edit(func(n *acctest.Node) { n.Image += "+" })(a, s)
}

// giveUp removes the members from the control of Terraform, without changing
// the cluster.
func (a *actor) giveUp(deed) bool {
	if a.now.removed || a.now.layout == moduleEach || a.machinesAlone() {
		return false
	}
	a.now.removed = true
	a.now.removed = a.endures()
	return a.now.removed
}

// undo returns to the last applied configuration.
func (a *actor) undo(deed) bool {
	was := a.now
	a.now = a.base.clone()
	for _, key := range was.keys() {
		// This node was added since, and its machine would be lost.
		if _, is := a.now.nodes[key]; !is && !a.now.has(was.memberName(key)) && !a.endures() {
			a.now.nodes[key] = was.nodes[key]
		}
	}
	// Resources with another address in the state keep it.
	a.write()
	a.now.moved = a.movedBlocks()
	return true
}

// has reports whether a configuration has a member with that name.
func (s setup) has(member string) bool {
	return slices.ContainsFunc(s.keys(), func(key string) bool { return s.memberName(key) == member })
}
