// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import "slices"

// Terraform destroys a machine after the removal of its member because the member depends on
// it. It knows that from what its state has stored of the member, not from the configuration:
//
//   - An import stores no dependency. The next apply that updates the member does.
//   - A member without a machine ID in the state depended on no machine when it was applied.
//   - A machine that was moved to another address is no dependency of what was stored before.
//   - A plan that reads a member adds the dependencies that it has in the configuration. It does
//     not read what it imports itself, and a member that it removes has no configuration.
//
// Without the dependency both are destroyed at the same time, and the removal comes too late
// to be refused.

// The codes of [Judge] about this order. Names are the members.
const (
	// NotApplied: the plan removes a living voter that no apply has stored since its import, or
	// replaces it while the cluster cannot be observed.
	NotApplied Code = "not applied since its import"
	// ImportedByPlan: the plan imports a living voter, and replaces it.
	ImportedByPlan Code = "imported by this plan"
	// NotRead: the plan replaces a living voter that it has not read (-refresh=false).
	NotRead Code = "not read by this plan"
	// SharedMachine: two members of a cluster have the machine ID in Detail. A machine that
	// is replaced would take both, or none of them would be removed before.
	SharedMachine Code = "shared machine"
	// DroppedAlone: the etcd_cluster drops or rebuilds nodes, and the plan has no member for them:
	// their machines may be destroyed all at once, and fewer than a quorum of voters may stay.
	DroppedAlone Code = "dropped without their members"
	// AllNew (warning): the cluster does not answer, no state has a member of it, and the plan
	// gives every node a new machine.
	AllNew Code = "all machines new"
)

// unordered: a living voter is replaced with its machine only if this plan has read it and does not
// import it, and removed only if an apply has stored it. In silence an apply must have stored it in
// both cases, since a destroy may have ended after its machine. The destruction of a whole cluster
// needs no order: the other entries are awaited before a removal is judged.
func unordered(p planned) (out []Ruling) {
	for _, e := range p.entries {
		goes := e.Effect == Replaced || e.Effect == Removed && p.Awaited && !p.removesAll()
		switch {
		case e.Object == 0 || !goes || !p.lives(e):
		case e.Unapplied && (e.Effect == Removed || p.Snapshot == nil):
			out = append(out, brokenBy(NotApplied, Facts{}, e))
		case e.Effect == Replaced && e.ByImport:
			out = append(out, brokenBy(ImportedByPlan, Facts{}, e))
		case e.Effect == Replaced && !e.Read && (e.Unapplied || e.After.Machine == Unknown || e.isAnew()):
			out = append(out, brokenBy(NotRead, Facts{}, e))
		}
	}
	return out
}

// removesAll reports whether the plan removes every voter, as a destroy of the whole cluster does.
func (p planned) removesAll() bool {
	if p.Snapshot == nil {
		return false
	}
	removed, voters := p.with(Removed), p.Snapshot.Voters()
	stays := func(m Member) bool { return !slices.ContainsFunc(removed, func(e Entry) bool { return e.ID == m.ID }) }
	return len(voters) > 0 && !slices.ContainsFunc(voters, stays)
}

// alone are the voters that the etcd_cluster drops, that may live, and for which the plan has no
// member. Without a leader that a quorum names, nobody says that a silent one is dead.
// With -target, Terraform destroys the machines of names that are gone, and leaves out members.
// The same holds for the machines of nodes that are rebuilt: see [replacements] for those of a
// cluster that was observed.
func (p planned) alone() []Entry {
	gone := p.living(Removed)
	if p.Snapshot == nil {
		gone = p.living(Removed, Replaced)
	} else if _, _, led := p.Snapshot.MajorityLeader(); !led {
		gone = keep(p.with(Removed), func(e Entry) bool {
			m, listed := p.Snapshot.Member(e.ID)
			return listed && !p.Lost && !m.Learner && m.Started()
		})
	}
	return keep(gone, func(dropped Entry) bool {
		return !slices.ContainsFunc(p.entries, func(e Entry) bool {
			byName := p.Snapshot == nil && e.Name == dropped.Name // the last known ID may be old
			return e.Object != 0 && (e.ID == dropped.ID || byName)
		})
	})
}

// dropped: what goes without its member leaves a quorum of today's voters in place.
func dropped(p planned) (out []Ruling) {
	if alone := p.alone(); p.Awaited && len(alone) > 0 && !p.keepsQuorum() {
		out = append(out, brokenBy(DroppedAlone, Facts{}, alone...))
	}
	return out
}

// keepsQuorum reports whether the living voters that the plan neither removes nor replaces are
// a quorum of today's voters. Silence does not say which voters live.
func (p planned) keepsQuorum() bool {
	if p.Snapshot == nil {
		return false
	}
	lost := p.living(Removed, Replaced)
	stay := keep(p.Snapshot.Voters(), func(m Member) bool {
		return p.livingVoter(m.ID) && !slices.ContainsFunc(lost, func(e Entry) bool { return e.ID == m.ID })
	})
	return len(stay) >= p.Snapshot.Quorum()
}

// Waiting returns the entry as the plan has it until the entry is judged itself: other members are
// judged before that, and what the entry waits for may allow it.
func (e Entry) Waiting() Entry {
	e.Unapplied = false
	return e
}

// Settled returns what is known of a plan once an entry is in it, and whether a later entry may
// still change how it is judged: a rule that would be broken is not, if other resources of the
// plan say what a destroy, or a removal of names, also says. Await them before it is judged.
func (k Known) Settled(e Entry, entries []Entry) (_ Known, settled bool) {
	p := k.of(entries)
	switch {
	case e.Effect == Removed && e.Unapplied && !e.Read && k.Snapshot != nil:
		return k, p.removesAll()
	case e.Effect == Created && e.Built && k.Snapshot == nil:
		k.Gone = nothingLeft(entries, e.Nodes)
		return k, k.Gone
	}
	return k, len(p.alone()) == 0 || p.keepsQuorum()
}

// sharesMachine reports whether two members have one machine, as far as it is known.
func sharesMachine(a, b Entry) bool {
	if a.After == nil || b.After == nil || a.Cluster == 0 && b.Cluster == 0 {
		return false // members of two clusters may run on one machine
	}
	return a.After.Machine == b.After.Machine && a.After.Machine != "" && a.After.Machine != Unknown
}

// nothingLeft reports whether all that a plan does with the nodes of an etcd_cluster is to
// create each member on a new machine, and no state has a member of them. It is so after their
// machines were destroyed with -target, also in the plan that Terraform makes before it plans
// a destroy: what that adds is no reason to refuse the destroy.
func nothingLeft(entries []Entry, nodes []string) bool {
	isOf := func(s *Side, node string) bool { return s != nil && s.Node == node }
	return len(nodes) > 0 && !slices.ContainsFunc(nodes, func(node string) bool {
		made := func(e Entry) bool { return e.Effect == Created && isOf(e.After, node) && e.After.Machine == Unknown }
		has := func(e Entry) bool { return isOf(e.Before, node) }
		return !slices.ContainsFunc(entries, made) || slices.ContainsFunc(entries, has)
	})
}

// Occupant is a member that an apply creates on a machine.
type Occupant struct {
	Name string
	// PeerURLs are its own, Peers those of the other members of its cluster, as far as its
	// node has them.
	PeerURLs, Peers []string
}

// Beside returns the names of the occupants of one machine that are members of one cluster with
// this one, and its own name, or nil if there are no others.
func (o Occupant) Beside(all []Occupant) []string {
	others := keep(all, func(x Occupant) bool {
		return x.Name != o.Name && (shareURL(x.PeerURLs, o.Peers) || shareURL(o.PeerURLs, x.Peers))
	})
	if len(others) == 0 {
		return nil
	}
	return slices.Sorted(slices.Values(append(each(others, func(x Occupant) string { return x.Name }), o.Name)))
}
