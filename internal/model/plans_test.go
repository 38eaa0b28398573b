// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package model

import (
	"fmt"
	"slices"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// planRules are the rules that the search for mistakes replaces.
type planRules struct {
	guard    func(membership.Snapshot, membership.PlannedChanges) membership.Decision
	withdraw func(membership.Snapshot, membership.WithdrawRequest) membership.Decision
	// bootReplaced: a bootstrap that has formed its cluster may be replaced.
	// blind: replaced configurations are not counted. believing: a new
	// configuration is treated as that of the recorded member.
	bootReplaced, blind, believing bool
}

var thePlanRules = planRules{guard: membership.GuardPlan, withdraw: membership.DecideWithdraw}

// refuses reports whether the provider refuses a plan, as its resources plan
// it: memberconfig.guard.create, member.guard.checkNode and checkIdentity, and
// initialcluster's planCreate.
func (r planRules) refuses(w typed, nodes [places]planned, boot bool) bool {
	if boot && !r.bootReplaced {
		return true
	}
	snap := w.seen()
	var changes membership.PlannedChanges
	replace := func(i int) {
		if id := idOf(uint8(i), w.places[i].member); w.places[i].listed && !slices.Contains(changes.Replaced, id) {
			changes.Replaced = append(changes.Replaced, id)
		}
	}
	for i, n := range nodes {
		p, at := w.places[i], uint8(i)
		switch {
		case !n.made[configPart]:
		case p.state[configPart] == kept:
			if !r.blind {
				replace(i)
			}
		default:
			changes.Created++
			for _, m := range snap.InTheWay(nameOf(at), []string{urlOf(at)}, 0) {
				if membership.JudgeLoss(snap, m.ID, w.connected()) != membership.Vanished && !r.believing {
					return true
				}
			}
		}
		if !n.inPlan[memberPart] {
			continue
		}
		fate := func(part part) membership.Fate {
			if n.made[part] {
				return membership.Changes
			}
			return membership.Stays
		}
		switch node := (membership.NodePlan{Config: fate(configPart), Machine: fate(machinePart), HasRun: true}); {
		case p.state[memberPart] == tainted:
			return true // error "Another resource stands for the member"
		case p.state[memberPart] == absent:
			if r.refusesMember(w, at, n, snap) {
				return true
			}
			changes.Created++
		case n.made[memberPart]:
			node.Member = membership.Changes
			if membership.GuardNode(node).Verdict == membership.Refuse {
				return true
			}
			replace(i)
		default:
			node.Member = membership.Stays
			if membership.GuardNode(node).Verdict == membership.Refuse {
				return true
			}
		}
	}
	return r.guard(snap, changes).Verdict == membership.Refuse
}

// refusesMember handles a member that is not in the state.
func (r planRules) refusesMember(w typed, at uint8, n planned, snap membership.Snapshot) bool {
	if n.made[configPart] {
		return false // the apply determines the member
	}
	found := membership.Identify(snap, membership.IdentifyRequest{Name: nameOf(at), PeerURLs: []string{urlOf(at)}, Ownership: w.places[at].ownership(at)})
	return found.Step == membership.StepRefuse || found.Step == membership.StepAdopt && n.made[machinePart]
}

// connected returns the members to which the leader is connected.
func (w typed) connected() map[membership.MemberID]bool {
	out := map[membership.MemberID]bool{}
	for i, p := range w.places {
		out[idOf(uint8(i), p.member)] = p.alive
	}
	return out
}

// carry applies a plan: first the destroys, from the members down, then the creates,
// from the bootstrap up. It stops where the provider stops, and returns what is wrong.
func (r planRules) carry(w typed, nodes [places]planned, boot bool) (typed, string) {
	for part := memberPart; part >= configPart; part-- {
		for i := range w.places {
			if !nodes[i].gone[part] {
				continue
			}
			var ok bool
			var wrong string
			if ok, wrong = r.destroy(&w, uint8(i), part, nodes[i]); wrong != "" || !ok {
				return w, wrong
			}
			w.places[i].state[part] = absent
		}
	}
	if boot {
		w.boot, w.formed = kept, false
	}
	for part := configPart; part <= memberPart; part++ {
		for i := range w.places {
			if nodes[i].made[part] && !w.create(uint8(i), part) {
				return w, ""
			}
		}
	}
	return w, ""
}

// destroy destroys one resource. ok is false if the provider refuses.
func (r planRules) destroy(w *typed, at uint8, part part, n planned) (ok bool, wrong string) {
	p := &w.places[at]
	snap := w.seen()
	switch part {
	case memberPart:
		if !p.listed {
			return true, ""
		}
		d := membership.DecideRemove(snap, membership.RemoveRequest{ID: idOf(at, p.member), Name: nameOf(at), PeerURLs: []string{urlOf(at)}, Replacement: n.made[memberPart]})
		if d.Verdict != membership.Go {
			return false, ""
		}
		p.listed, p.alive, p.left = false, false, true
	case machinePart:
		had := w.quorum()
		p.alive = false
		if had && !w.quorum() {
			return false, fmt.Sprintf("the machine of %s is destroyed, and the quorum is gone", nameOf(at))
		}
	case configPart:
		d := r.withdraw(snap, membership.WithdrawRequest{
			Owner: "o", RecordOwner: "o", Name: nameOf(at), RecordName: nameOf(at), PeerURLs: []string{urlOf(at)},
			Ownership: p.ownership(at), Replacement: n.made[configPart], Seen: w.connected(),
		})
		switch {
		case d.Verdict == membership.Go && p.alive:
			return false, fmt.Sprintf("%s is removed, and its machine lives and stays", nameOf(at))
		case d.Verdict == membership.Go:
			p.listed = false
		case d.Verdict != membership.Done:
			return false, ""
		}
		p.left = false
	}
	return true, ""
}

// create creates one resource. It returns false if that fails.
func (w *typed) create(at uint8, part part) bool {
	p := &w.places[at]
	switch part {
	case configPart:
		if p.listed {
			return false // memberconfig.contradiction: the cluster has the name
		}
		p.config, p.changed = p.config+1, false
	case machinePart:
		p.machine = p.config
		p.alive = false // until it joins
	case memberPart:
		snap := w.seen()
		found := membership.Identify(snap, membership.IdentifyRequest{Name: nameOf(at), PeerURLs: []string{urlOf(at)}, Ownership: p.ownership(at)})
		switch found.Step {
		case membership.StepAdopt:
		case membership.StepAnnounce:
			d := membership.DecideAdd(snap, membership.AddRequest{Name: nameOf(at), PeerURLs: []string{urlOf(at)}})
			if d.Verdict != membership.Go || p.machine != p.config || !w.formed {
				return false
			}
			p.listed, p.alive, p.member, p.left = true, true, p.config, false
		default:
			return false
		}
	}
	p.state[part] = kept
	return true
}

// types executes a command. wrong is a condition that must not occur.
func (r planRules) types(w typed, c command) (next typed, wrong string) {
	next = w
	switch c.what {
	case "change all", "change back":
		for i := range next.places {
			next.places[i].changed = c.what == "change all"
		}
		return next, ""
	case "taint", "state rm":
		to, a := tainted, c.targets[0]
		if c.what == "state rm" {
			to = absent
		}
		at := &next.boot
		if a.part != bootPart {
			at = &next.places[a.place].state[a.part]
		}
		if *at != absent {
			*at = to
		}
		return next, ""
	}
	w.refresh()
	nodes, boot := w.plan(c)
	if r.refuses(w, nodes, boot) || slices.ContainsFunc(nodes[:], machineAlone) {
		return w, ""
	}
	next, wrong = r.carry(w, nodes, boot)
	had, has := w.quorum(), next.quorum()
	switch {
	case wrong != "":
	case had && !has:
		wrong = "the quorum is gone"
	case w.formed && !next.formed:
		wrong = "the bootstrap is another one"
	}
	for i, p := range w.places {
		q := next.places[i]
		if wrong == "" && p.listed && p.alive && q.listed && !q.alive && q.member == p.member {
			wrong = fmt.Sprintf("the machine of %s is gone, and it is a member still", nameOf(uint8(i)))
		}
	}
	return next, wrong
}

// refresh drops from the state the members that no longer exist.
func (w *typed) refresh() {
	for i := range w.places {
		if p := &w.places[i]; !p.listed || p.state[memberPart] == kept && p.member != p.config && p.machine == p.config {
			p.state[memberPart] = absent
		}
	}
}

// machineAlone reports a case that a provider cannot see in a plan and that is left
// out: a machine is replaced, but neither its configuration nor its member is.
func machineAlone(n planned) bool {
	return n.gone[machinePart] && !n.inPlan[memberPart] && !n.made[configPart]
}

// wayOut follows the advice of the refusals until nothing is left to do:
// untaint, import existing members, replace the others, and apply.
func (r planRules) wayOut(w typed) bool {
	for range 4 * places {
		if w.boot != kept {
			w.boot = kept // untaint, or import
		}
		for i := range w.places {
			p := &w.places[i]
			p.changed = false
			for part := configPart; part <= memberPart; part++ {
				if p.state[part] == tainted {
					p.state[part] = kept
				}
			}
			if p.listed && p.state[configPart] == absent {
				p.state[configPart], p.config = kept, p.member
			}
			if p.listed && p.state[memberPart] == absent {
				p.state[memberPart] = kept
			}
		}
		w, _ = r.types(w, command{what: "apply"})
		at := slices.IndexFunc(w.places[:], func(p place) bool {
			return !p.listed || !p.alive || p.machine != p.config || p.member != p.config || p.state != [memberPart + 1]held{}
		})
		if at < 0 {
			return true
		}
		w, _ = r.types(w, command{what: "apply", replaced: []address{{configPart, uint8(at)}}})
	}
	return false
}

// searchPlans visits everything that depth commands can lead to. It returns the
// first fault with the commands that lead to it.
func (r planRules) searchPlans(depth int) (found string, visited, tried int) {
	type way struct {
		w    typed
		path []command
	}
	all, known := commands(), map[typed]bool{newTyped(): true}
	level := []way{{w: newTyped()}}
	for range depth {
		var deeper []way
		for _, at := range level {
			for _, c := range all {
				next, wrong := r.types(at.w, c)
				tried++
				path := append(slices.Clone(at.path), c)
				switch {
				case wrong == "" && known[next]:
					continue
				case wrong == "" && !r.wayOut(next):
					wrong = fmt.Sprintf("nothing leads on from here: %+v", next)
				}
				if wrong != "" {
					return fmt.Sprintf("%v: %s", path, wrong), len(known), tried
				}
				known[next] = true
				deeper = append(deeper, way{next, path})
			}
		}
		level = deeper
	}
	return "", len(known), tried
}

// TestPlans runs every sequence of three commands (four with ETCD_TEST_FULL=1)
// on three members. None of them loses a quorum, replaces a bootstrap or
// destroys a machine without its member, and there is always a way out.
func TestPlans(t *testing.T) {
	t.Parallel()
	depth := 3
	if etcdtest.Full() {
		depth = 4
	}
	found, visited, tried := thePlanRules.searchPlans(depth)
	if found != "" {
		t.Error(found)
	}
	t.Logf("%d commands, %d in a row: %d states, %d steps", len(commands()), depth, visited, tried)
}

// TestPlansFindsMistakes: the search finds the mistakes that the soak must find.
func TestPlansFindsMistakes(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*planRules){
		"configurations are not counted": func(r *planRules) { r.blind = true },
		"a bootstrap can be replaced":    func(r *planRules) { r.bootReplaced = true },
		"a record is believed":           func(r *planRules) { r.believing = true },
		"the backstop removes who lives": func(r *planRules) {
			r.withdraw = func(s membership.Snapshot, q membership.WithdrawRequest) membership.Decision {
				return instead(membership.DecideWithdraw(s, q), membership.VoterLives)
			}
		},
	} {
		r := thePlanRules
		change(&r)
		found, visited, tried := r.searchPlans(3)
		if found == "" {
			t.Errorf("%s: not found in %d states, %d steps", name, visited, tried)
		}
		t.Logf("%s: %s", name, found)
	}
}
