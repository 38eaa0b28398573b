// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package diag

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// Advice words what an operator should know about a cluster that is only
// looked at; s is the look.
func Advice(w membership.Warning, s membership.Snapshot) string {
	f := w.Facts
	who, n := Members(s, f.Others), len(f.Others)
	switch w.Code {
	case membership.QuorumLost:
		answer := f.Voters - n
		back := shorts(s, f.Others)
		if need := f.Quorum - answer; need < n {
			back = sprintf("at least %d of %s", need, back)
		}
		return sprintf("The cluster has lost its quorum: %d of %d voters %s; quorum is %d. %s Bring %s back. "+
			"If that cannot be, a person must recover the cluster: from a snapshot (etcdutl snapshot restore) into a new cluster, or by starting the most advanced survivor with --force-new-cluster.",
			answer, f.Voters, plural(answer, "answers", "answer"), f.Quorum, MemberAnswers(s, f.Others), back)
	case membership.NoLeader:
		return sprintf("No leader is named by a quorum of the voters (%d of %d). An election takes a second or two; if this lasts, look at the network between the members.", f.Quorum, f.Voters)
	case membership.MixedClusters:
		return "The endpoints do not lead to one cluster: " + otherClusters(s) + ". See how each was started (members that did not understand their bootstrap form a cluster each), and take what does not belong here out of the endpoints."
	case membership.ListMoved:
		return "The member list changed, or could not be confirmed, while the members were asked: somebody is changing the membership."
	case membership.ListsDiffer:
		return sprintf("The voters do not give the same member list: %s %s another one than the rest. Compare what etcdctl member list answers at each member.", who, plural(n, "gives", "give"))
	case membership.NotProbed:
		return notSeen(f, s)
	case membership.MemberDown:
		return sprintf("%s Bring %s back, or replace %s.", MemberAnswers(s, f.Others), shorts(s, f.Others), plural(n, "it", "them"))
	case membership.SilentHere:
		return sprintf("%s The cluster is connected to %s: the advertised client URL cannot be reached from here. Say in the provider's address_map where %s.",
			MemberAnswers(s, f.Others), shorts(s, f.Others), plural(n, "it is", "they are"))
	case membership.MemberUnstarted:
		first := ""
		if slices.ContainsFunc(s.Voters(), func(m membership.Member) bool { return m.Started() && !s.Alive(m.ID) }) {
			first = " first"
		}
		return sprintf("%s Start %s, or remove %s%s.", MemberAnswers(s, f.Others), shorts(s, f.Others), plural(n, "it", "them"), first)
	case membership.LearnerStands:
		return sprintf("Learner %s is %d entries behind the leader and does not move. Look at its log and at the network between it and the leader.", Member(s, f.Subject), f.Lag)
	case membership.AlarmRaised:
		return alarmAdvice(f.Detail, who, n)
	case membership.ToleranceZero:
		return sprintf("No further voter may fail: %d of %d voters %s alive; quorum is %d.", f.Alive, f.Voters, plural(f.Alive, "is", "are"), f.Quorum)
	case membership.EvenVoters:
		return sprintf("%d voters survive the loss of %d, as %d do, and there is one more that can fail. Prefer an odd number.", f.Voters, f.Voters-f.Quorum, f.Voters-1)
	case membership.MixedVersions:
		return "The members run different versions: " + versions(s) + ". Finish the upgrade."
	case membership.KnownBadRelease:
		return sprintf("%s %s a release on which a promotion may be lost, at a restart or at the next upgrade (%s). Upgrade to 3.5.26 or later within 3.5 before anything else.",
			capital(who), plural(n, "runs", "run"), f.Detail)
	default:
		return sprintf("Look at the cluster: %s.", w.Code)
	}
}

// ClusterUnreachable is the advice where nobody gave a member list.
func ClusterUnreachable(err error) string {
	var gone *cluster.Unreachable
	if !errors.As(err, &gone) {
		return "The cluster could not be looked at: " + sentence(err) + "."
	}
	var said []string
	for _, e := range gone.Answers {
		said = append(said, Clean(e.Endpoint)+": "+answer(e.Err))
	}
	return "No endpoint gave a member list. " + strings.Join(said, "; ") + "."
}

// LookRefused is the error for a cluster that refuses the provider's
// credentials or certificate, or offers one that cannot be trusted.
func LookRefused(err error) Text {
	return Text{"Cannot look at the cluster", "Nobody who answers lets this provider in." + answers(err)}
}

// LookUnknown is the error for a look that is asked for before the provider's
// configuration is known.
func LookUnknown() Text {
	return Text{
		"Cannot look at the cluster yet",
		"The provider's configuration is known after apply only, and a data source is read while the plan is made. " +
			"Give it depends_on with what the endpoints come from, or its own endpoints: then it is read during the apply.",
	}
}

// NobodyToLookAt is the error for a look without endpoints.
func NobodyToLookAt() Text {
	return Text{"No endpoints", "Neither the provider nor the data source has endpoints. Set them in one of the two, such as [\"https://10.0.1.10:2379\"]."}
}

func notSeen(f membership.Facts, s membership.Snapshot) string {
	const next = "If the advertised client URLs cannot be reached from here, or lead to a load balancer, say in the provider's address_map where each member is."
	if len(f.Others) == 0 {
		return "No voter is known. " + next
	}
	return MemberAnswers(s, f.Others) + " " + next
}

func alarmAdvice(kind, who string, n int) string {
	raised := sprintf("%s raised the alarm %s", capital(who), kind)
	switch kind {
	case "NOSPACE":
		return raised + ": a database has reached its quota, and the cluster refuses writes. Compact and defragment, then disarm the alarm (etcdctl alarm disarm)."
	case "CORRUPT":
		return raised + ": its data differs from the others'. Replace " + plural(n, "it", "them") + ", then disarm the alarm (etcdctl alarm disarm)."
	default:
		return raised + "."
	}
}

// versions shows who runs what, as in "3.5.35 (a), 3.6.16 (b and c)".
func versions(s membership.Snapshot) string {
	run := map[string][]membership.MemberID{}
	for _, m := range s.Members {
		if v := s.Answer(m.ID).Version; v != "" {
			run[v] = append(run[v], m.ID)
		}
	}
	var said []string
	for _, v := range slices.Sorted(maps.Keys(run)) {
		slices.SortFunc(run[v], func(a, b membership.MemberID) int { return cmp.Compare(short(s, a), short(s, b)) })
		said = append(said, sprintf("%s (%s)", v, shorts(s, run[v])))
	}
	return strings.Join(said, ", ")
}

// otherClusters shows which endpoints answer for which other cluster.
func otherClusters(s membership.Snapshot) string {
	said := []string{"this one is " + s.ClusterID.String()}
	for _, id := range slices.Sorted(maps.Keys(s.Others)) {
		said = append(said, sprintf("%s answers for cluster %s", strings.Join(s.Others[id], ", "), id))
	}
	return strings.Join(said, ", and ")
}
