// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// NodesReason says why the nodes that wait, wait.
type NodesReason uint8

const (
	// NodesDone: no node waits.
	NodesDone NodesReason = iota
	// NodesNext: one node is rebuilt, and the others wait for it.
	NodesNext
	// NodesUnobserved: the cluster was not observed, or not since Others were built.
	NodesUnobserved
	// NodesTooFew: a cluster of one or two voters loses its quorum with one of them.
	NodesTooFew
	// NodesBelowQuorum: without the node, Alive voters stay, and Quorum must.
	NodesBelowQuorum
	// NodesUnhealthy: Others are voters that are not healthy, or were added and have
	// not started.
	NodesUnhealthy
	// NodesURLsPending: the changes of peer URLs of the Others are not proven.
	NodesURLsPending
	// NodesOnTheWay: Others were rebuilt and do not vote yet.
	NodesOnTheWay
	// NodesDeviate: the members of Others answer another version than their nodes
	// have. Nothing is to change about them, so their image decides.
	NodesDeviate
	// NodesUnsaved: no snapshot was taken since the values of the node were wanted.
	NodesUnsaved
	// NodesVersionUnknown: the first version of Others is not known, because their
	// members do not answer.
	NodesVersionUnknown
)

// NodeAction is what a plan does to a node.
type NodeAction uint8

const (
	// NodeKept: the node keeps its ID and what its machine depends on.
	NodeKept NodeAction = iota
	// NodeNew: the name is new.
	NodeNew
	// NodeRebuilt: the node gets a new ID and all values that are wanted.
	NodeRebuilt
)

// PlannedNode is a node after the apply.
type PlannedNode struct {
	Action NodeAction
	NodeValues
	// Replaces is [Node.Replaces] of the node after the apply. It is empty for a node
	// whose name never had a member.
	Replaces []string
}

// NodesPlan is what a plan does to the nodes of a cluster.
type NodesPlan struct {
	Nodes map[string]PlannedNode
	// Rebuilt is the node that is rebuilt, or "". Failed is true if that is so
	// because its member has failed.
	Rebuilt string
	Failed  bool
	// TakenBack are the nodes that are again [Node.Former], sorted.
	TakenBack []string
	// Pending are the nodes that do not have all values that are wanted, sorted.
	Pending []string
	Reason  NodesReason
	// Others are the nodes that Reason is about, by name, or members without a name
	// by their IDs, sorted.
	Others []string
	// Votes are today's voters, and those that would stay alive; see [NodesBelowQuorum].
	Votes
	// DeadLearners and Deviating are for warnings: started learners that do not
	// answer, if a node is rebuilt, and nodes whose members answer another version.
	DeadLearners, Deviating []string
	// Upgrade is the change of version to refuse or to warn about.
	Upgrade VersionStep
	// FirstVersion are nodes without a version whose members answer another
	// version than the first one that is wanted. The plan is refused.
	FirstVersion []string
}

// PlanNodes decides which nodes a plan adds and which one it rebuilds. wanted are
// the values for each name, nodes are those in the state, health is what the last
// refresh stored. The result depends on nothing else, because Terraform asks again
// during the apply and must get the same answer.
//
// A new name gets its values and a name that is gone is dropped, beside the queue.
// What changes without a rebuild, and what needs one, says [Node.becomes]. Of the
// nodes that need one, in the order of [queue.rank], the first that may be rebuilt is
// ([queue.mayRebuild]): at most one in a plan, so that no plan takes two machines. First,
// rebuilds that may not be carried out any more are taken back ([queue.takeBack]).
func PlanNodes(wanted map[string]NodeValues, nodes []Node, health NodesHealth) NodesPlan {
	q, back := queue{wanted: wanted, nodes: nodes, health: health}.takeBack()
	health = q.health
	p := NodesPlan{Nodes: map[string]PlannedNode{}, TakenBack: back}
	var due []Node
	var steps []VersionStep
	for _, n := range q.nodes {
		want, stays := wanted[n.Name]
		if !stays {
			continue
		}
		kept, rebuild, wait := n.becomes(want, health.of(n.Name))
		p.Nodes[n.Name] = PlannedNode{Action: NodeKept, NodeValues: kept, Replaces: n.Replaces}
		switch {
		case rebuild:
			due = append(due, n)
			steps = append(steps, VersionStep{Name: n.Name, From: n.Version, To: want.Version})
		case wait == NodesDeviate:
			p.FirstVersion = append(p.FirstVersion, n.Name)
		case wait == NodesVersionUnknown:
			p.Pending, p.Reason, p.Others = append(p.Pending, n.Name), wait, append(p.Others, n.Name)
		}
		if health.deviates(n) {
			p.Deviating = append(p.Deviating, n.Name)
		}
	}
	for name, want := range wanted {
		if _, known := p.Nodes[name]; !known {
			p.Nodes[name] = PlannedNode{Action: NodeNew, NodeValues: want}
			steps = append(steps, VersionStep{Name: name, To: want.Version})
		}
	}
	p.Upgrade = checkVersions(health.Running(), steps)
	slices.SortFunc(due, func(a, b Node) int { return cmp.Or(q.rank(a)-q.rank(b), cmp.Compare(a.Name, b.Name)) })
	for i, n := range due {
		reason, others, votes := q.mayRebuild(n)
		if reason == NodesNext {
			p.rebuild(n, wanted[n.Name], health)
			due = slices.Delete(due, i, i+1)
			break
		}
		if i == 0 {
			p.Reason, p.Others, p.Votes = reason, others, votes
		}
	}
	p.Pending = append(p.Pending, each(due, Node.name)...)
	for _, list := range [][]string{p.TakenBack, p.Pending, p.Others, p.Deviating, p.FirstVersion} {
		slices.Sort(list)
	}
	return p
}

func (p *NodesPlan) rebuild(n Node, want NodeValues, health NodesHealth) {
	e := health.of(n.Name)
	before := append(slices.Clone(n.Replaces), n.ID)
	switch {
	case n.neverCameUp(e):
		before = nil // nothing is left of it, and the others do not wait for it
	case e.Node == n.ID && e.Own:
		before = []string{n.ID} // it took the place of those before
	}
	p.Nodes[n.Name] = PlannedNode{Action: NodeRebuilt, NodeValues: want, Replaces: before}
	p.Rebuilt, p.Failed = n.Name, n.hasFailed(e)
	p.Reason, p.Others = NodesNext, nil
	p.DeadLearners = health.labels(n, func(e NodeHealth) bool { return e.Member != 0 && !e.Voter && !e.Alive && e.Status != NodeAdded })
}

func (n Node) name() string { return n.Name }

// neverCameUp reports whether the first node of a name has never had a member.
func (n Node) neverCameUp(e NodeHealth) bool {
	return len(n.Replaces) == 0 && e.Node == n.ID && e.Status == NodePending && !e.Recorded
}

// hasFailed reports whether the member of the node, not of one before it, has failed.
func (n Node) hasFailed(e NodeHealth) bool { return e.Node == n.ID && e.Status == NodeFailed }

// becomes returns what the node has if it is not rebuilt, and whether it needs a
// rebuild. wait is [NodesDeviate] if the first version contradicts the member, and
// [NodesVersionUnknown] if the member does not tell.
//
//   - A failed member, other URLs, another version, another value of a key of the
//     revision that the node has, and another text in rebuild need a rebuild.
//   - A key that the node does not have yet is taken as it is, and one that is gone is
//     dropped: neither says anything about the machine. So a revision can be given to
//     an imported cluster.
//   - A first version is taken if it is what the member answers. Otherwise the state
//     would have a version that the machine does not have.
//   - An imported node may leave its URLs to its machine.
func (n Node) becomes(want NodeValues, e NodeHealth) (kept NodeValues, rebuild bool, wait NodesReason) {
	kept = n.NodeValues
	rebuild = n.hasFailed(e)
	urls := func(has, wants []string) []string {
		if n.Imported && wants == nil {
			return nil
		}
		rebuild = rebuild || (has == nil) != (wants == nil) || !SameURLs(has, wants)
		return has
	}
	kept.PeerURLs, kept.ClientURLs = urls(n.PeerURLs, want.PeerURLs), urls(n.ClientURLs, want.ClientURLs)
	kept.Revision = maps.Clone(want.Revision)
	for key, value := range want.Revision {
		if has, known := n.Revision[key]; known {
			kept.Revision[key], rebuild = has, rebuild || has != value
		}
	}
	if want.Rebuild == "" {
		kept.Rebuild = ""
	}
	rebuild = rebuild || want.Rebuild != "" && want.Rebuild != n.Rebuild
	switch {
	case want.Version == "", n.Version == "" && sameVersion(e.Version, want.Version):
		kept.Version = want.Version
	case n.Version != "":
		rebuild = rebuild || !sameVersion(n.Version, want.Version)
	case e.Version == "":
		wait = NodesVersionUnknown
	default:
		wait = NodesDeviate
	}
	return kept, rebuild, wait
}

// sameVersion reports whether two versions of etcd are the same, with or without a
// leading v. No version is the same as none.
func sameVersion(a, b string) bool {
	return strings.TrimPrefix(a, "v") == strings.TrimPrefix(b, "v")
}

// deviates reports whether the node's own member answers another version than the
// node has: its image has etcd in it, or the new one was never installed.
func (h NodesHealth) deviates(n Node) bool {
	e := h.of(n.Name)
	return e.Node == n.ID && e.Own && e.Status != NodeReplacing && n.Version != "" && e.Version != "" && !sameVersion(n.Version, e.Version)
}

// isOf reports whether the entry is that of the node, or of a node before it.
func (e NodeHealth) isOf(n Node) bool { return e.Node != "" && e.Name == n.Name }

// labels returns the names of the members but that of the node for which is returns true,
// or their IDs.
func (h NodesHealth) labels(n Node, is func(NodeHealth) bool) []string {
	others := keep(h.Members, func(e NodeHealth) bool { return !e.isOf(n) && is(e) })
	return slices.Sorted(slices.Values(each(others, func(e NodeHealth) string { return cmp.Or(e.Name, e.Member.String()) })))
}
