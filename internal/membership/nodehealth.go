// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import "slices"

// Node is a node of a cluster in the state: what its machine was built with.
type Node struct {
	// ID is the identity of the node. A rebuilt node has a new ID.
	ID   string
	Name string
	NodeValues
	// Replaces are the IDs of the nodes of that name before this one whose members
	// may be left. A node that was rebuilt has at least one.
	Replaces []string
	// Imported is true if the machine existed before the node: its user data does
	// not come from the node.
	Imported bool
	// Unsaved is true if a snapshot is required before the node gets the values that are
	// wanted, and none was taken since they are.
	Unsaved bool
	// Former is the node before this one, while no member has followed; see
	// [queue.takeBack].
	Former *Node
}

// NodeValues are the values of a node that its machine depends on.
type NodeValues struct {
	// PeerURLs and ClientURLs are nil if only the machine knows them.
	PeerURLs, ClientURLs []string
	// Version is a version of etcd such as "3.6.16", or "".
	Version  string
	Revision map[string]string
	// Rebuild is any text. Another text rebuilds the node, "" does not.
	Rebuild string
}

// NodeStatus is the state of a node in its cluster.
type NodeStatus string

// The states of a node.
const (
	// NodePending: no member of the node is in the list.
	NodePending NodeStatus = "pending"
	// NodeAdded: the member is in the list and has never started.
	NodeAdded NodeStatus = "added"
	// NodeLearner and NodeVoter: the member is alive.
	NodeLearner NodeStatus = "learner"
	NodeVoter   NodeStatus = "voter"
	// NodeReplacing: the node was rebuilt, and its own member has not been seen to
	// take the place of the member before; or its member was removed to be added
	// again, and does not vote yet.
	NodeReplacing NodeStatus = "replacing"
	// NodeUnreachable: the member has started and does not serve, as far as this
	// observation shows.
	NodeUnreachable NodeStatus = "unreachable"
	// NodeFailed: the member has been unreachable in two views for the time after
	// which it is given up. [JudgeNodes] does not know time, so its caller sets it.
	NodeFailed NodeStatus = "failed"
)

// NodeHealth is what an observation showed of one node, or of a member that belongs
// to no node.
type NodeHealth struct {
	// Node is the ID of the node, or "".
	Node string `json:"node,omitempty"`
	// Name is the name of the node, or the one that the member has published.
	Name string `json:"name,omitempty"`
	// Member is 0 if no member of the node is in the list.
	Member MemberID   `json:"member,omitempty"`
	Status NodeStatus `json:"status"`
	// Voter is true if the member has a vote, Alive is [Snapshot.Alive].
	Voter bool `json:"voter,omitempty"`
	Alive bool `json:"alive,omitempty"`
	// Pending is true if a change of the member's peer URLs is not proven, see [URLChange].
	Pending bool `json:"pending,omitempty"`
	// Own is true if the member is this node's own, not that of a node before.
	Own bool `json:"own,omitempty"`
	// Heard is true if the member does not answer here, and the leader hears it.
	Heard bool `json:"heard,omitempty"`
	// Recorded is true if the cluster has a record of a resource for the node.
	Recorded bool `json:"recorded,omitempty"`
	// Dropped is true for a voter of no node if an apply has dropped its node, and nothing
	// else is on record for it; see [NodesHealth.Since].
	Dropped bool `json:"dropped,omitempty"`
	// Version and Downgrade are what the member answered, see [Answer].
	Version   string `json:"version,omitempty"`
	Downgrade string `json:"downgrade,omitempty"`
}

// NodesHealth is what an observation showed of the nodes of a cluster. It is stored
// by the refresh, because a plan is made again during the apply, when the member and
// the machine that it replaces are already gone.
type NodesHealth struct {
	// Observed is true if [Snapshot.Gate] permitted changes. The zero value
	// permits nothing.
	Observed bool `json:"observed,omitempty"`
	// Members has an entry for each node, in order, then one for each other member.
	Members []NodeHealth `json:"members,omitempty"`
}

// JudgeNodes returns the health of the nodes. owned are the ownership records by
// owner, that is by the ID of a node; open are the replacements that are not over.
// The order, for the member of a node:
//
//  1. The member of the node's own record, then the member at the peer URLs of the
//     node, then the member of its name. A record comes first, because the member of
//     a node before may still be at the same URLs.
//  2. A rebuilt node is [NodeReplacing] until its own record names a member that has
//     started. Before that, whatever answers at its URLs is the member that it
//     replaces: with -target of the cluster alone, that member still serves.
//  3. A node of an open replacement is [NodeReplacing] too, unless a voter of the node
//     is in the list: that voter was never removed and has died since, so its own
//     condition counts, and time can make it [NodeFailed].
//  4. The list, then the answer of the member.
func JudgeNodes(s Snapshot, owned map[string]Ownership, open []Turn, nodes []Node) NodesHealth {
	h := NodesHealth{Observed: s.Gate(0).Verdict == Go}
	taken := map[MemberID]bool{}
	for _, n := range nodes {
		m, listed, own := s.memberOf(n, owned[n.ID])
		if listed && taken[m.ID] {
			m, listed, own = Member{}, false, false
		}
		taken[m.ID] = true
		e := s.healthOf(m, listed)
		e.Node, e.Name, e.Own, e.Recorded = n.ID, n.Name, own && m.Started(), owned[n.ID].Recorded
		turn := slices.ContainsFunc(open, func(t Turn) bool { return t.Name == n.Name })
		ran := e.Voter && m.Started()
		if len(n.Replaces) > 0 && !e.Own || turn && !ran {
			e.Status = NodeReplacing
		}
		h.Members = append(h.Members, e)
	}
	for _, m := range s.Members {
		if !taken[m.ID] && !m.IsPlaceholder() {
			h.Members = append(h.Members, s.healthOf(m, true))
		}
	}
	return h
}

// memberOf returns the member of a node, and whether it is certain that it is not
// the member of a node before.
func (s Snapshot) memberOf(n Node, o Ownership) (m Member, listed, own bool) {
	if m, listed = s.MemberOnRecord(o); listed {
		return m, true, true
	}
	own = len(n.Replaces) == 0
	if m, listed = byURLs(s, n.PeerURLs); listed {
		return m, true, own
	}
	m, listed = find(s.Members, func(m Member) bool { return n.Name != "" && m.Name == n.Name })
	return m, listed, own && listed
}

func (s Snapshot) healthOf(m Member, listed bool) NodeHealth {
	if !listed {
		return NodeHealth{Status: NodePending}
	}
	e := NodeHealth{Name: m.Name, Member: m.ID, Voter: !m.Learner, Alive: s.Alive(m.ID), Heard: s.Heard[m.ID], Pending: s.isPending(m.ID)}
	if s.answers(m.ID) {
		e.Version, e.Downgrade = s.Answer(m.ID).Version, s.Answer(m.ID).Downgrade
	}
	switch {
	case e.Alive && e.Voter:
		e.Status = NodeVoter
	case e.Alive:
		e.Status = NodeLearner
	case m.Started():
		e.Status = NodeUnreachable
	default:
		e.Status = NodeAdded
	}
	return e
}

// Unobserved returns what stays known without a new observation: whose members there were, and
// which of them voted. It permits no rebuild.
func (h NodesHealth) Unobserved() NodesHealth {
	kept := func(e NodeHealth) NodeHealth {
		return NodeHealth{
			Node: e.Node, Name: e.Name, Member: e.Member, Voter: e.Voter,
			Own: e.Own, Recorded: e.Recorded, Dropped: e.Dropped,
		}
	}
	return NodesHealth{Members: each(h.Members, kept)}
}

// of returns what is known of the node of that name, or of the node of that name
// before it.
func (h NodesHealth) of(name string) NodeHealth {
	e, _ := find(h.Members, func(e NodeHealth) bool { return e.Node != "" && e.Name == name })
	return e
}

// Running returns the members that answered, as a snapshot for the rules of versions.
func (h NodesHealth) Running() Snapshot {
	s := Snapshot{ClusterID: 1, Answers: map[MemberID]Answer{}}
	for _, e := range h.Members {
		if e.Member != 0 && e.Version != "" {
			s.Members = append(s.Members, Member{ID: e.Member, Name: e.Name})
			s.Answers[e.Member] = Answer{State: Answered, MemberID: e.Member, ClusterID: 1, Version: e.Version, Downgrade: e.Downgrade}
		}
	}
	return s
}

// Unclaimed returns the members of nodes that the plan drops and that no resource is on
// record for: nothing removes them. That is so after an import.
func (h NodesHealth) Unclaimed(wanted map[string]NodeValues) []NodeHealth {
	return keep(h.Members, func(e NodeHealth) bool {
		_, stays := wanted[e.Name]
		return !stays && e.isUnmanaged()
	})
}

// Unmanaged returns the members of nodes that no resource is on record for, and that were
// so when the last apply refreshed: that apply did not create their resources either.
func (h NodesHealth) Unmanaged(before NodesHealth) []NodeHealth {
	return keep(h.Members, func(e NodeHealth) bool {
		was := before.of(e.Name)
		return e.isUnmanaged() && was.isUnmanaged() && was.Node == e.Node && was.Member == e.Member
	})
}

func (e NodeHealth) isUnmanaged() bool { return e.Node != "" && e.Member != 0 && !e.Recorded }
