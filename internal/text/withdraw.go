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

// vote says why a voter is not known to be dead.
func vote(s membership.Snapshot, id membership.MemberID) string {
	if s.Alive(id) {
		return "it answers at " + s.Answer(id).Endpoint
	}
	return "it is not known to be dead, because the leader may still have a connection to it"
}
