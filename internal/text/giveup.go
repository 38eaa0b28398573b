// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"errors"
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// The texts about a cluster that is to be given up.

// NotGivenUp returns the error for a restore that would give up a cluster.
func NotGivenUp(err error) Message {
	n, ok := errors.AsType[*reconfigure.NotGivenUp](err)
	if !ok {
		return newMessage("Cannot give up the cluster", "%s. Nothing was changed.", sentence(err))
	}
	switch s := n.Evidence.Snapshot; n.Decision.Code {
	case membership.HasQuorum:
		return newMessage("The cluster has not lost its quorum",
			"restore.replaces_cluster confirms that cluster %s is lost, but the cluster answers, with %s. "+
				"It may have its quorum, and a restore would lose writes that it acknowledged. Nothing was changed.\n\n"+
				"If you want to give up its data all the same, stop etcd on its machines, then plan again. Otherwise remove restore.replaces_cluster.%s",
			s.ClusterID, members(s, ids(s.Members)), own(heard(n.Evidence)))
	case membership.MayServe:
		return newMessage("The cluster may serve",
			"restore.replaces_cluster confirms that cluster %s is lost, but a server answers at an address of the cluster. "+
				"It may be a member with a quorum, and a restore would lose writes that it acknowledged. Nothing was changed.\n\n"+
				"If the server belongs to the cluster, correct the provider's certificates, credentials and endpoints, so that it gives its member list, or stop etcd on its machine. "+
				"If it does not, remove its address from endpoints and address_map. Then plan again.%s",
			n.Cluster, own(heard(n.Evidence)))
	default:
		return newMessage("State that the cluster is lost",
			"restore.replaces_cluster gives up cluster %s. No answer shows that the cluster serves, but none proves that it is lost: what does not answer may be unreachable from here, or for now. Nothing was changed.%s\n\n"+
				"Make sure that the machines of its members are destroyed or stopped, except those that answer without a quorum. Then state that for this Terraform run only, and again for the apply of a saved plan:\n\n"+
				"  ETCD_CLUSTER_LOST=%s terraform apply%s",
			n.Cluster, own(otherStated(n)), n.Cluster, own(heard(n.Evidence)))
	}
}

// otherStated says that the operator states the loss of another cluster.
func otherStated(n *reconfigure.NotGivenUp) string {
	if n.Stated == 0 {
		return ""
	}
	return sprintf(" ETCD_CLUSTER_LOST is %s, which is another cluster.", n.Stated)
}

// heard lists what each known address of a cluster answered.
func heard(e membership.Evidence) string {
	if len(e.Heard) == 0 {
		return "\n\nNo address of the cluster is known, so nothing was asked."
	}
	lines := make([]string, len(e.Heard))
	for i, h := range e.Heard {
		lines[i] = Clean(h.Endpoint) + ": " + cut(Clean(h.Detail), longestError)
	}
	return "\n\nThe addresses answered:\n  - " + strings.Join(lines, "\n  - ")
}

// lastResort is the advice if no cluster can decide about a removal any more, and
// what each address answered. It is "" if err is not about a removal.
func lastResort(err error) string {
	n, ok := errors.AsType[*reconfigure.NotGivenUp](err)
	switch {
	case !ok:
		return ""
	case n.Decision.Code == membership.HasQuorum:
		return "\n\nAsked again, the cluster answers and may have its quorum: apply again." + heard(n.Evidence)
	case n.Decision.Code == membership.MayServe:
		return sprintf("\n\nA server answers at an address of the cluster. It may be a member with a quorum, so no member is forgotten. "+
			"If the server does not belong to cluster %s, remove its address from endpoints and address_map, or stop it.%s", n.Cluster, own(heard(n.Evidence)))
	default:
		return sprintf("\n\nIf cluster %s is gone for good, state that for this Terraform run only, and destroy everything that is in the state. Members that no cluster can remove are then forgotten:\n\n"+
			"  ETCD_CLUSTER_LOST=%s terraform destroy -refresh=false%s%s", n.Cluster, n.Cluster, own(otherStated(n)), own(heard(n.Evidence)))
	}
}

// MemberForgotten returns the warning for a member of a lost cluster.
func MemberForgotten(name string, id membership.MemberID, err error) Message {
	return newMessage("Member "+name+" was forgotten, not removed",
		"%s (%s) was removed from the state only, because ETCD_CLUSTER_LOST states that its cluster is lost. The cluster could not decide, and nothing was changed in it. "+
			"If the cluster comes back, the member is still in its list.%s",
		name, id, own(cause(err)))
}

// InvalidClusterLost returns the error for an invalid ETCD_CLUSTER_LOST.
func InvalidClusterLost(value string) Message {
	return newMessage("Invalid ETCD_CLUSTER_LOST",
		"ETCD_CLUSTER_LOST is %q. Expected the ID of the cluster that is lost, 1 to 16 hexadecimal digits. The error that asks for it contains the line to paste. Otherwise, unset it.", value)
}
