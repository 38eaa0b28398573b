// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"errors"
	"slices"
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// The texts about a cluster that is to be given up.

// GiveUp is why a plan gives up a cluster.
type GiveUp membership.RestoreAction

// The reasons. A restore that an earlier apply has begun is on the way until the restored
// cluster answers. Until then it can be withdrawn, which gives up the restored cluster.
const (
	ForRestore         = GiveUp(membership.RestoreNow)
	ForRestoreOnTheWay = GiveUp(membership.RestoreOnTheWay)
	ForWithdrawal      = GiveUp(membership.RestoreWithdrawn)
)

// NotGivenUp returns the error for a plan of etcd_cluster, or its apply, that would give
// up a cluster.
func NotGivenUp(err error, why GiveUp) Message {
	n, ok := errors.AsType[*reconfigure.NotGivenUp](err)
	if !ok {
		return New("Cannot give up the cluster", "%s. Nothing was changed.", sentence(err))
	}
	id, answers, names := n.Request.Cluster, own(heard(n.Evidence)), n.Decision.Facts.Names
	switch s := n.Evidence.Snapshot; n.Decision.Code {
	case membership.HasQuorum:
		return New("The cluster has not lost its quorum",
			"%s gives up cluster %s, but the cluster answers, with %s. It may have its quorum, and writes that it acknowledged would be lost. Nothing was changed.\n\n%s%s",
			why, s.ClusterID, members(s, ids(s.Members)), why.otherwise("stop etcd on its machines"), answers)
	case membership.Contradicted:
		return New("A member that is stated gone answers",
			"%s %s stated to be gone for good, and a server answers that may be %s. So cluster %s may serve, or come back. Nothing was changed.\n\n"+
				"Remove %s from gone of restore and from ETCD_CLUSTER_LOST. %s%s",
			listed(names), plural(len(names), "is", "are"), plural(len(names), "it", "them"), id, plural(len(names), "it", "them"),
			why.otherwise("stop etcd on that machine for good"), answers)
	case membership.MayServe:
		return New("The cluster may serve",
			"%s gives up cluster %s, but a server answers at an address of the cluster. It may be a member with a quorum, and writes that it acknowledged would be lost. Nothing was changed.\n\n"+
				"If the server belongs to the cluster, correct the provider's certificates, credentials and endpoints, so that it gives its member list. "+
				"If it does not, remove its address from endpoints and address_map. Then plan again. %s%s",
			why, id, why.otherwise("stop etcd on its machine"), answers)
	default:
		return New("State which members are gone",
			"%s gives up cluster %s. Nothing proves that its quorum is lost: a member that does not answer may serve where it is not reached from here, or its power may return. Nothing was changed.\n\n"+
				"Look at the machines. If these are destroyed or never start again, %s%s",
			why, id, own(why.statement(n)), answers)
	}
}

// String returns the subject of a sentence.
func (w GiveUp) String() string {
	if w == ForWithdrawal {
		return "The withdrawal of the restore"
	}
	return "restore.replaces_cluster"
}

// otherwise returns how the cluster is given up all the same, and how the plan leaves it.
// stop is an imperative.
func (w GiveUp) otherwise(stop string) string {
	switch w {
	case ForRestoreOnTheWay:
		return "To withdraw the restore, set restore to what it was before, or remove it, and run terraform apply. If you want to give up the cluster all the same, " + stop + ", then plan again."
	case ForWithdrawal:
		return "To keep the restored cluster, put restore back into the configuration. If you want to give it up all the same, " + stop + ", then plan again."
	case ForRestore:
		fallthrough
	default:
		return "If you want to give up the cluster all the same, " + stop + ", then plan again. Otherwise remove replaces_cluster from restore."
	}
}

// statement ends a sentence with the line that states which members are gone.
func (w GiveUp) statement(n *reconfigure.NotGivenUp) string {
	if w == ForWithdrawal {
		return sprintf("state it for this Terraform run only, and again for the apply of a saved plan. Leave out a member that may come back:\n\n"+
			"  ETCD_CLUSTER_LOST=%s:%s terraform apply", n.Request.Cluster, own(strings.Join(stating(n), ",")))
	}
	return sprintf("add this line to restore. Leave out a member that may come back:\n\n  gone = [%s]", own(quoted(stating(n))))
}

// stating returns the voters to state as gone: those that are stated, and those of
// which nothing is known.
func stating(n *reconfigure.NotGivenUp) []string {
	out := []string{}
	for _, name := range slices.Concat(n.Request.Gone, n.Decision.Facts.Names) {
		out = append(out, Clean(name))
	}
	slices.Sort(out)
	return slices.Compact(out)
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
			"If the server does not belong to cluster %s, remove its address from endpoints and address_map. If it does, and you want to give up the cluster, stop etcd on its machine.%s", n.Request.Cluster, own(heard(n.Evidence)))
	case n.Decision.Code == membership.Contradicted:
		return sprintf("\n\nETCD_CLUSTER_LOST states that %s %s gone for good, and a server answers that may be %s. So no member is forgotten. Unset it.%s",
			listed(n.Decision.Facts.Names), plural(len(n.Decision.Facts.Names), "is", "are"), plural(len(n.Decision.Facts.Names), "it", "them"), own(heard(n.Evidence)))
	default:
		return sprintf("\n\nNothing proves that the quorum of cluster %s is lost: a member that does not answer may serve where it is not reached from here. "+
			"If these members are gone for good, state that for this Terraform run only, and destroy everything that is in the state. Members that no cluster can remove are then forgotten:\n\n"+
			"  ETCD_CLUSTER_LOST=%s:%s terraform destroy -refresh=false%s", n.Request.Cluster, n.Request.Cluster, own(strings.Join(stating(n), ",")), own(heard(n.Evidence)))
	}
}

// MemberForgotten returns the warning for a member of a lost cluster.
func MemberForgotten(name string, id membership.MemberID, err error) Message {
	return New("Member "+name+" was forgotten, not removed",
		"%s (%s) was removed from the state only, because its cluster is lost: ETCD_CLUSTER_LOST states which members are gone. The cluster could not decide, and nothing was changed in it. "+
			"If the cluster comes back, the member is still in its list.%s",
		name, id, own(cause(err)))
}

// InvalidClusterLost returns the error for an invalid ETCD_CLUSTER_LOST.
var InvalidClusterLost = of1[string]("Invalid ETCD_CLUSTER_LOST",
	"ETCD_CLUSTER_LOST is %q. Expected the ID of the lost cluster and its members that are gone for good, such as 3f1c2ab45d6e7f80:b,c. The error that asks for it contains the line to paste. Otherwise, unset it.")
