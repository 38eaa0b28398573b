// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import "slices"

// queue is what decides which node is rebuilt.
type queue struct {
	wanted map[string]NodeValues
	nodes  []Node
	health NodesHealth
}

// rank orders the nodes that need a rebuild. The order:
//
//  0. A node that was rebuilt and does not vote yet. No other node may be rebuilt
//     while the machine of this one does not come up, so another value must reach it
//     first, also the one from before.
//  1. A failed node: the cluster has one voter less until it is replaced.
//  2. A node whose member does not answer, has not started, or is not in the list.
//  3. A node whose member answers another version than the node has. It counts as
//     failed for the others ([NodesDeviate]).
//  4. The others.
func (q queue) rank(n Node) int {
	e := q.health.of(n.Name)
	switch {
	case q.onTheWay(n):
		return 0
	case e.Status == NodeFailed:
		return 1
	case !e.Alive:
		return 2
	case q.health.deviates(n):
		return 3
	}
	return 4
}

// onTheWay reports whether a node was rebuilt and has not been seen to vote.
func (q queue) onTheWay(n Node) bool {
	e := q.health.of(n.Name)
	return e.Status == NodeReplacing || e.Node != n.ID && len(n.Replaces) > 0
}

// mayRebuild decides whether a node may be rebuilt now; [NodesNext] permits it. The
// order:
//
//  1. The cluster was observed, and each other node since it was built. A plan with
//     -refresh=false has the health from before the last apply: it would rebuild a
//     second node while the first is on its way.
//  2. The living voters that stay are a quorum of today's voters, the node's own
//     included. Names that the plan removes do not stay. With -target, Terraform
//     destroys the machine of the node and leaves the member in the list, where
//     nothing at apply can stop it; then the rest must still serve. Hence clusters of
//     one and two voters do not roll.
//  3. Nothing more for a node whose member is dead: with its machine nothing is lost,
//     and two dead voters of five must be replaceable. One that the leader hears lives.
//  4. No change of peer URLs is pending: the next restart may cut that member off
//     ([URLChange]).
//  5. Each other voter is healthy, and no member was added that has not started: it
//     holds the place of the learner that the rebuilt node needs. A name that never
//     came up, and a learner that has run and is dead, do not count.
//  6. No other node is on its way.
//  7. No other member answers another version than its node has. Its image decides
//     the version then, and the next image would have the same fault.
//  8. A snapshot was taken since the values are wanted, if one is required.
func (q queue) mayRebuild(n Node) (NodesReason, []string, Votes) {
	var f Votes
	own := q.health.of(n.Name)
	for _, e := range q.health.Members {
		if e.Voter {
			f.Voters++
		}
		if e.Voter && e.Alive && !e.isOf(n) && !q.leaves(e) {
			f.Alive++
		}
	}
	f.Quorum = Quorum(f.Voters)
	unseen := q.names(n, func(o Node) bool { return q.health.of(o.Name).Node != o.ID })
	pending := q.health.labels(n, func(e NodeHealth) bool { return e.Pending })
	unhealthy := q.health.labels(n, func(e NodeHealth) bool { return e.Voter && !e.Alive || e.Status == NodeAdded })
	onTheWay, deviating := q.names(n, q.onTheWay), q.names(n, q.health.deviates)
	switch {
	case !q.health.Observed:
		return NodesUnobserved, nil, Votes{}
	case len(unseen) > 0:
		return NodesUnobserved, unseen, Votes{}
	case f.Alive < f.Quorum && own.Voter && own.Alive && f.Voters < 3:
		return NodesTooFew, nil, f
	case f.Alive < f.Quorum:
		return NodesBelowQuorum, nil, f
	case !own.Alive && !own.Heard && own.Node == n.ID:
		return NodesNext, nil, f
	case len(pending) > 0:
		return NodesURLsPending, pending, f
	case len(unhealthy) > 0:
		return NodesUnhealthy, unhealthy, f
	case len(onTheWay) > 0:
		return NodesOnTheWay, onTheWay, f
	case len(deviating) > 0:
		return NodesDeviate, deviating, f
	case n.Unsaved:
		return NodesUnsaved, nil, f
	}
	return NodesNext, nil, f
}

// takeBack returns the queue without the rebuilds that no member followed and that may not
// be carried out any more, and the names of their nodes. Such a rebuild is left by -target
// of the cluster, or by an apply that ended before the removal of the member. When another
// voter fails then, every plan would still replace the machine of the living member, and be
// refused for it, also the plan that replaces the failed one. The former node is what the
// machine still has, so nothing is replaced. The queue rebuilds it again in its turn.
func (q queue) takeBack() (_ queue, names []string) {
	before := q
	q.nodes, q.health.Members = slices.Clone(q.nodes), slices.Clone(q.health.Members)
	for i, n := range before.nodes {
		e := q.health.of(n.Name)
		serves := e.Node == n.ID && !e.Recorded && e.Voter && e.Alive
		if n.Former == nil || !slices.Contains(n.Replaces, n.Former.ID) || !serves || q.leaves(e) {
			continue
		}
		if reason, _, _ := before.mayRebuild(n); reason == NodesNext || reason == NodesUnobserved || reason == NodesUnsaved {
			continue
		}
		at := slices.Index(q.health.Members, e)
		e.Node, e.Status, e.Own = n.Former.ID, NodeVoter, true
		q.nodes[i], q.health.Members[at] = *n.Former, e
		q.nodes[i].Unsaved = n.Unsaved
		names = append(names, n.Name)
	}
	return q, names
}

// leaves reports whether the plan removes the node of a member, or an earlier one has.
func (q queue) leaves(e NodeHealth) bool {
	_, stays := q.wanted[e.Name]
	return e.Dropped || e.Node != "" && !stays
}

// names returns the names of the nodes but n for which is returns true.
func (q queue) names(n Node, is func(Node) bool) []string {
	others := keep(q.nodes, func(o Node) bool { return o.ID != n.ID && is(o) })
	return slices.Sorted(slices.Values(each(others, Node.name)))
}
