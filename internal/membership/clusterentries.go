// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"cmp"
	"slices"
)

// ClusterEntry is what one etcd_cluster is in a state, or what a plan does with it. Like
// an [Entry] it is true once it is made, and nothing is concluded from one that is
// missing, but by Table.Replaces of package backend.
type ClusterEntry struct {
	// Object distinguishes the resources of a plan. It is empty for what a state has.
	Object string
	// ID is that of the resource in the state.
	ID string
	// Cluster is 0 if it is not known. Formed is true if the cluster has answered.
	Cluster ClusterID
	Formed  bool
	// Nodes are the IDs of its nodes, PeerURLs those of all of them. The state has their Names
	// and Endpoints, too.
	Nodes, PeerURLs, Names, Endpoints []string
	// GivesUp is the cluster that the plan gives up, nil if it gives up none.
	GivesUp *GivingUp
}

// GivingUp is a cluster that a plan of etcd_cluster gives up, and by which action.
type GivingUp struct {
	GiveUpRequest
	Why RestoreAction
	// At are the client URLs at which machines are destroyed or made: those of the nodes
	// before and after. They are asked beside those of the members.
	At []string
	// Again is true if an earlier apply has given it up by the same statement. Its
	// machines are being destroyed since, so silence proves nothing new. An answer
	// still refuses.
	Again bool
	// Unasked is true if the plan asks nothing unless a member of it is left.
	Unasked bool
}

// InState returns the etcd_cluster of the state that has one of the peer URLs. Terraform
// plans a tainted one as if it were new.
func InState(clusters []ClusterEntry, urls []string) (ClusterEntry, bool) {
	return find(clusters, func(c ClusterEntry) bool { return c.Object == "" && shareURL(c.PeerURLs, urls) })
}

// SharedBy returns the peer URLs of the entry that another etcd_cluster of the plan has:
// two queues for one cluster could rebuild two nodes at a time.
func (c ClusterEntry) SharedBy(clusters []ClusterEntry) (urls []string) {
	for _, other := range clusters {
		if other.Object != "" && other.Object != c.Object {
			urls = append(urls, sharedURLs(c.PeerURLs, other.PeerURLs)...)
		}
	}
	slices.Sort(urls)
	return slices.Compact(urls)
}

// GivenUp returns the clusters that the plan gives up. Their members may be replaced all
// together. The last entry of one counts, because Terraform plans again during the apply.
func GivenUp(clusters []ClusterEntry) (out []GivingUp) {
	for _, c := range slices.Backward(clusters) {
		if c.GivesUp != nil && !slices.ContainsFunc(out, func(g GivingUp) bool { return g.Cluster == c.GivesUp.Cluster }) {
			out = append(out, *c.GivesUp)
		}
	}
	return out
}

// Has reports whether the etcd_cluster has the node of a member.
func (c ClusterEntry) Has(s Side) bool {
	return slices.Contains(c.Nodes, s.Node) || shareURL(c.PeerURLs, s.PeerURLs)
}

// Located returns the entry of a new member with the cluster of its node, and endpoints of
// it. The node of an initial member does not know its cluster, but the state of the
// etcd_cluster does, once the cluster has answered. So it does for a node that the plan
// rebuilds, which is not known before the apply.
func (e Entry) Located(clusters []ClusterEntry) (Entry, []string) {
	switch {
	case e.Effect != Created:
	case e.isAnew():
		c, _ := find(clusters, func(c ClusterEntry) bool { return c.Object != "" && shareURL(c.PeerURLs, e.After.PeerURLs) })
		if was, _ := InState(clusters, c.PeerURLs); was.Formed && slices.Contains(was.Names, e.Name) {
			e.Built, e.Cluster = true, cmp.Or(e.Cluster, was.Cluster)
			return e, was.Endpoints
		}
	default:
		c, _ := find(clusters, func(c ClusterEntry) bool { return slices.Contains(c.Nodes, e.After.Node) })
		if e.Nodes = c.Nodes; e.Initial > 0 {
			e.Built, e.Cluster = c.Formed, cmp.Or(e.Cluster, c.Cluster)
		}
	}
	return e, nil
}
