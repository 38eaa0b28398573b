// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import "slices"

// Effects returns what the plan of an etcd_cluster does to members of its cluster, whether or
// not their resources are in the plan: with -target they are left out, and Terraform still
// replaces the machine of a node that is rebuilt, and destroys that of a name that is gone.
//
//   - The member of a node that is rebuilt is replaced.
//   - So is the member that a node which an earlier apply rebuilt has not replaced yet.
//   - The member of a name that is gone is removed, also if an earlier apply dropped the name.
//     If no refresh has seen it, its ID is 0, and it may vote.
func (p NodesPlan) Effects(cluster ClusterID, nodes []Node, health NodesHealth) (out []Entry) {
	for _, h := range health.Members {
		e := Entry{Cluster: cluster, ID: h.Member, Name: h.Name, Votes: h.Voter}
		_, stays := p.Nodes[h.Name]
		isOf := func(n Node) bool { return n.Name == h.Name }
		n, _ := find(nodes, isOf)
		switch followed := h.Own && h.Node == n.ID || slices.Contains(p.TakenBack, h.Name); {
		case h.Member == 0:
			continue
		case h.Dropped, h.Node != "" && !stays:
			e.Effect = Removed
		case h.Node == "":
			continue
		case h.Name == p.Rebuilt, len(n.Replaces) > 0 && !followed:
			e.Effect = Replaced
		default:
			continue
		}
		out = append(out, e)
	}
	for _, n := range nodes {
		_, stays := p.Nodes[n.Name]
		seen := slices.ContainsFunc(health.Members, func(h NodeHealth) bool { return h.Name == n.Name })
		if !stays && !seen {
			out = append(out, Entry{Cluster: cluster, Name: n.Name, Votes: true, Effect: Removed})
		}
	}
	return out
}

// IsOfCluster reports whether the entry is one of [NodesPlan.Effects].
func (e Entry) IsOfCluster() bool {
	return e.Object == 0 && e.Before == nil && (e.Effect == Removed || e.Effect == Replaced)
}

// of returns the entries about a cluster. What [NodesPlan.Effects] has without an ID is the member
// with that name.
func (k Known) of(entries []Entry) planned {
	p := planned{k, slices.Clone(entries)}
	for i, e := range p.entries {
		if k.Snapshot != nil && e.ID == 0 && e.IsOfCluster() {
			m, _ := find(k.Snapshot.Members, func(m Member) bool { return m.Name == e.Name })
			p.entries[i].ID = m.ID
		}
	}
	return p
}

// Since returns the health with the members whose nodes an apply has dropped from the
// etcd_cluster since an earlier refresh, and that are still in the cluster: their machines may
// be in the state. [NodeHealth.Dropped] says which these are.
func (h NodesHealth) Since(was NodesHealth) NodesHealth {
	h.Members = slices.Clone(h.Members)
	for i, e := range h.Members {
		ours := func(b NodeHealth) bool { return b.Member == e.Member && (b.Node != "" || b.Dropped) }
		h.Members[i].Dropped = e.Node == "" && e.Voter && slices.ContainsFunc(was.Members, ours)
	}
	return h
}
