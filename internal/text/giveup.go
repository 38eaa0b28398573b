// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// The texts about a cluster that is to be given up.

// giveUp is why a plan gives up a cluster, in words: the subject of a sentence, how the
// plan leaves it, and the line that states which members are gone.
type giveUp struct{ subject, keep, otherwise, statement string }

// NotGivenUp returns the error for a plan of etcd_cluster, or its apply, that would give
// up a cluster.
func NotGivenUp(err error, action membership.RestoreAction) Message {
	n, ok := errors.AsType[*reconfigure.NotGivenUp](err)
	if !ok {
		return New("Cannot give up the cluster", "%v."+nothingChanged, err)
	}
	why, ok := giveUps[action]
	if !ok {
		why = giveUps[membership.RestoreNow]
	}
	c := kept(n)
	c.held = true
	maps.Copy(c.more, map[string]any{"gives": why.subject, "keep": why.keep, "otherwise": why.otherwise, "statement": own(c.fill(why.statement))})
	return c.text(notGivenUp)
}

// kept is what was found of a cluster that is not given up.
func kept(n *reconfigure.NotGivenUp) finding {
	s, d := n.Evidence.Snapshot, n.Decision
	if !slices.Contains([]membership.Code{membership.HasQuorum, membership.Contradicted, membership.MayServe}, d.Code) {
		d.Code = membership.NotStated
	}
	return finding{d: d, f: d.Facts, s: s, more: map[string]any{
		"lost": n.Request.Cluster, "members": members(s, membership.IDs(s.Members)), "heard": own(heard(n.Evidence)),
		"stated": own(strings.Join(stating(n), ",")), "quoted": own(quoted(stating(n))),
	}}
}

// A restore that an earlier apply has begun is on the way until the restored cluster
// answers. Until then it can be withdrawn, which gives up the restored cluster.
var giveUps = map[membership.RestoreAction]giveUp{
	membership.RestoreNow: {subject: replaces, statement: inRestore, otherwise: " Otherwise remove replaces_cluster from restore."},
	membership.RestoreOnTheWay: {subject: replaces, statement: inRestore,
		keep: "To withdraw the restore, set restore to what it was before, or remove it, and run terraform apply. "},
	membership.RestoreWithdrawn: {subject: "The withdrawal of the restore", keep: "To keep the restored cluster, put restore back into the configuration. ",
		statement: "state it for this Terraform run only, and again for the apply of a saved plan. Leave out a member that may come back:\n\n" +
			"  ETCD_CLUSTER_LOST={lost}:{stated} terraform apply"},
}

const (
	replaces   = "restore.replaces_cluster"
	inRestore  = "add this line to restore. Leave out a member that may come back:\n\n  gone = [{quoted}]"
	allTheSame = "{keep}If you want to give up the cluster all the same, stop etcd on "
)

var notGivenUp = wordings{
	membership.HasQuorum: {{summary: "The cluster has not lost its quorum",
		cause: "{gives} gives up cluster {cluster}, but the cluster answers, with {members}. It may have its quorum, and writes that it acknowledged would be lost.",
		next:  "\n\n" + allTheSame + "its machines, then plan again.{otherwise}{heard}"}},
	membership.Contradicted: {{summary: "A member that is stated gone answers",
		cause: "{names} {is|are} stated to be gone for good, and a server answers that may be {it|them}. So cluster {lost} may serve, or come back.",
		next:  "\n\nRemove {it|them} from gone of restore and from ETCD_CLUSTER_LOST. " + allTheSame + "that machine for good, then plan again.{otherwise}{heard}"}},
	membership.MayServe: {{summary: "The cluster may serve",
		cause: "{gives} gives up cluster {lost}, but a server answers at an address of the cluster. It may be a member with a quorum, and writes that it acknowledged would be lost.",
		next: "\n\nIf the server belongs to the cluster, correct the provider's certificates, credentials and endpoints, so that it gives its member list. " +
			"If it does not, remove its address from endpoints and address_map. Then plan again. " + allTheSame + "its machine, then plan again.{otherwise}{heard}"}},
	membership.NotStated: {{summary: "State which members are gone",
		cause: "{gives} gives up cluster {lost}. Nothing proves that its quorum is lost: a member that does not answer may serve where it is not reached from here, or its power may return.",
		next:  "\n\nLook at the machines. If these are destroyed or never start again, {statement}{heard}"}},
}

// lastResorts are the wordings for a removal that no cluster can decide any more.
var lastResorts = wordings{
	membership.HasQuorum: {{cause: "Asked again, the cluster answers and may have its quorum: apply again."}},
	membership.MayServe: {{cause: "A server answers at an address of the cluster. It may be a member with a quorum, so no member is forgotten.",
		next: "If the server does not belong to cluster {lost}, remove its address from endpoints and address_map. If it does, and you want to give up the cluster, stop etcd on its machine."}},
	membership.Contradicted: {{cause: "ETCD_CLUSTER_LOST states that {names} {is|are} gone for good, and a server answers that may be {it|them}. So no member is forgotten.", next: "Unset it."}},
	membership.NotStated: {{cause: "Nothing proves that the quorum of cluster {lost} is lost: a member that does not answer may serve where it is not reached from here.",
		next: "If these members are gone for good, state that for this Terraform run only, and destroy everything that is in the state. Members that no cluster can remove are then forgotten:\n\n" +
			"  ETCD_CLUSTER_LOST={lost}:{stated} terraform destroy -refresh=false"}},
}

// lastResort is the advice if no cluster can decide about a removal any more, and
// what each address answered. It is "" if err is not about a removal.
func lastResort(err error) string {
	n, ok := errors.AsType[*reconfigure.NotGivenUp](err)
	if !ok {
		return ""
	}
	return "\n\n" + kept(n).text(lastResorts).Detail + heard(n.Evidence)
}

// stating returns the voters to state as gone: those that are stated, and those of
// which nothing is known.
func stating(n *reconfigure.NotGivenUp) []string {
	out := cleaned(slices.Concat(n.Request.Gone, n.Decision.Facts.Names))
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

// MemberForgotten returns the warning for a member of a lost cluster.
func MemberForgotten(name string, id membership.MemberID, err error) Message {
	return New("Member "+name+" was forgotten, not removed",
		"%s (%s) was removed from the state only, because its cluster is lost: ETCD_CLUSTER_LOST states which members are gone. The cluster could not decide, and nothing was changed in it. "+
			"If the cluster comes back, the member is still in its list.%s",
		name, id, own(cause(err)))
}
