// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// The texts for a removed node whose member is, or may be, in the
// cluster.

// BackstopSkipped returns the warning for a node that is removed
// permanently while the cluster cannot decide about its member.
func BackstopSkipped(name string, err error) Message {
	return New("Could not check what was added for "+name,
		"The node was removed, and the cluster did not answer or has no quorum. Nothing was changed in the cluster. "+
			"If the cluster still exists, find the ID of %s in its member list, and remove that member if it is there:\n\n"+
			"  etcdctl member list\n  etcdctl member remove ID%s",
		name, own(cause(err)))
}

func (c finding) voterLives() string {
	return sprintf("The node of %s is rebuilt, and its member %s is still a voting member: %s. "+
		"A voter that lives is never removed with its node. Nothing was changed. "+
		"The machine of the old node still runs: stop it, then apply again.",
		c.name, Member(c.s, c.f.Subject), vote(c.s, c.f.Subject))
}

// vote says why a voter is not known to be dead.
func vote(s membership.Snapshot, id membership.MemberID) string {
	if s.Alive(id) {
		return "it answers at " + s.Answer(id).Endpoint
	}
	return "it is not known to be dead, because the leader may still have a connection to it"
}

// unmanaged returns the warning for a voter that outlives its node.
func unmanaged(name string, f membership.Facts, s membership.Snapshot) Message {
	return New("Member "+name+" is no longer managed",
		"The node of %s was removed, and its member %s is still a voting member: %s. A voter that lives is never removed with its node, "+
			"so it stays in the cluster. To manage it again, import it; ADDRESS is the address of an etcd_member for it:\n\n"+
			"  terraform import 'ADDRESS' %s\n\nTo remove it from the cluster instead, run:\n\n  etcdctl member remove %s",
		name, Member(s, f.Subject), vote(s, f.Subject), f.Subject, f.Subject)
}

// recordDisagrees returns the warning for a record that contradicts the member list.
func recordDisagrees(name string, f membership.Facts, s membership.Snapshot) Message {
	return New("The record of member "+name+" is wrong",
		"The ownership record of this node names %s. Record, node and member list do not agree on its owner, its name or its peer URLs. "+
			"No member was removed, and the record was deleted. If that member was added for %s, remove it:\n\n  etcdctl member remove %s",
		Member(s, f.Subject), name, f.Subject)
}
