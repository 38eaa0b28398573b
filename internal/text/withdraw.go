// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// The texts for a destroyed configuration whose member is, or may be, in the
// cluster.

// BackstopSkipped returns the warning for a configuration that is destroyed
// permanently while the cluster cannot decide about its member.
func BackstopSkipped(name string, err error) Message {
	return newMessage("Could not check what was added for "+name,
		"The configuration was destroyed, and the cluster did not answer or has no quorum. Nothing was changed in the cluster. "+
			"If the cluster still exists, find the ID of %s in its member list, and remove that member if it is there:\n\n"+
			"  etcdctl member list\n  etcdctl member remove ID%s",
		name, own(cause(err)))
}

// BackstopBlocked returns the error for a configuration that is to be replaced
// while the cluster cannot decide about its member.
func BackstopBlocked(name string, err error) Message {
	return newMessage("Could not check what was added for "+name,
		"The configuration is to be replaced, and the cluster does not answer or has no quorum: the former member may still be in it. "+
			"Nothing was changed, and the record of the member stays in the cluster. Make the cluster reachable, then apply again. "+
			"If the cluster is gone for good, destroy what is left of it, then apply again:\n\n"+
			"  terraform destroy -refresh=false%s",
		own(cause(err)))
}

// BackstopAnswered returns the error for a configuration that is destroyed or
// replaced while a server answers without a member list.
func BackstopAnswered(name string, err error) Message {
	return newMessage("Could not check what was added for "+name,
		"A server answers at an address of the cluster and gives no member list, so the member may still be in the cluster. Nothing was changed.%s\n\n"+
			"If the server does not belong to the cluster, remove its address from endpoints and address_map. Then apply again.%s",
		own(remedy(err)), own(cause(err)))
}

func (c finding) voterLives() string {
	return sprintf("The configuration of %s is replaced, and its member %s is still a voting member: %s. "+
		"A voter that lives is never removed with its configuration. Nothing was changed. "+
		"The machine of the old configuration still runs: stop it, then apply again.",
		c.name, Member(c.s, c.f.Subject), vote(c.s, c.f.Subject))
}

// vote says why a voter is not known to be dead.
func vote(s membership.Snapshot, id membership.MemberID) string {
	if s.Alive(id) {
		return "it answers at " + s.Answer(id).Endpoint
	}
	return "it is not known to be dead, because the leader may still have a connection to it"
}

// unmanaged returns the warning for a voter that outlives its configuration.
func unmanaged(name string, f membership.Facts, s membership.Snapshot) Message {
	return newMessage("Member "+name+" is no longer managed",
		"The configuration of %s was destroyed, and its member %s is still a voting member: %s. A voter that lives is never removed with its configuration, "+
			"so it stays in the cluster. To manage it again, import it; ADDRESS is the address of an etcd_member for it:\n\n"+
			"  terraform import 'ADDRESS' %s\n\nTo remove it from the cluster instead, run:\n\n  etcdctl member remove %s",
		name, Member(s, f.Subject), vote(s, f.Subject), f.Subject, f.Subject)
}

// recordDisagrees returns the warning for a record that contradicts the member list.
func recordDisagrees(name string, f membership.Facts, s membership.Snapshot) Message {
	return newMessage("The record of member "+name+" is wrong",
		"The ownership record of this configuration names %s. Record, configuration and member list do not agree on its owner, its name or its peer URLs. "+
			"No member was removed, and the record was deleted. If that member was added for %s, remove it:\n\n  etcdctl member remove %s",
		Member(s, f.Subject), name, f.Subject)
}
