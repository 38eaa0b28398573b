// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"maps"
	"slices"
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// The findings about the whole cluster.

func (c finding) quorumLost() string {
	answer, back := c.f.Voters-len(c.f.Others), shorts(c.s, c.f.Others)
	if need := c.f.Quorum - answer; need < len(c.f.Others) {
		back = sprintf("at least %d of %s", need, back)
	}
	return sprintf("The cluster has lost its quorum: %d of %d voters %s; quorum is %d.%s %s Bring %s back%s. "+
		"If that is not possible, recover the cluster in two applies: save the data of a survivor with etcd_snapshot, then restore it with the argument restore of etcd_cluster. The guide \"Disaster recovery\" has the steps ("+guides+"disaster-recovery).",
		answer, c.f.Voters, plural(answer, "answers", "answer"), c.f.Quorum, c.held, memberAnswers(c.s, c.f.Others), back, c.again)
}

func (c finding) noLeader() string {
	next := "An election takes a second or two. If this lasts, look at the network between the members" + c.again + "."
	if len(c.f.Others) > 0 {
		return sprintf("The leader itself cannot be heard. %s %s", memberAnswers(c.s, c.f.Others), next)
	}
	var views []string
	for _, m := range c.s.Voters() {
		a := c.s.Answer(m.ID)
		switch {
		case a.State != membership.Answered || a.MemberID != m.ID || a.ClusterID != c.s.ClusterID:
			views = append(views, strings.TrimSuffix(MemberAnswer(c.s, m.ID), "."))
		case a.Leader == 0:
			views = append(views, Member(c.s, m.ID)+" knows no leader")
		default:
			views = append(views, sprintf("%s names %s in term %d", Member(c.s, m.ID), short(c.s, a.Leader), a.Term))
		}
	}
	return sprintf("A quorum of the voters (%d of %d) must name one leader and serve reads. %s. %s", c.f.Quorum, c.f.Voters, strings.Join(views, "; "), next)
}

func (c finding) mixedClusters() string {
	said := memberAnswers(c.s, c.f.Others)
	if said == "" {
		var others []string
		for _, id := range slices.Sorted(maps.Keys(c.s.Others)) {
			others = append(others, sprintf("%s answers for cluster %s", strings.Join(c.s.Others[id], ", "), id))
		}
		said = sprintf("The endpoints do not lead to one cluster: this one is %s, but %s.", c.s.ClusterID, strings.Join(others, ", and "))
	}
	return said + c.held + " See how each was started (members that did not understand their bootstrap form a cluster each), " +
		"stop what does not belong here or remove it from the endpoints" + c.again + "."
}

func (c finding) listMoved() string {
	return "The member list could not be confirmed, or changed while the members were asked: another process is changing this cluster. Wait until it has finished" + c.again + "."
}

func (c finding) listsDiffer() string {
	return sprintf("The voters do not give the same member list, and none has a majority (%d of %d): %s %s another list than the rest."+
		"%s If this lasts, compare what `etcdctl member list` answers at each member. One whose list stays different is at fault: stop it, or remove it%s.",
		c.f.Quorum, c.f.Voters, members(c.s, c.f.Others), plural(len(c.f.Others), "gives", "give"), c.held, c.again)
}

func (c finding) notProbed() string {
	if len(c.f.Others) == 0 {
		return "No voter is known. " + c.wayTo()
	}
	depends := ""
	switch leader, _, _ := c.s.MajorityLeader(); {
	case c.f.Subject == leader && slices.Equal(c.f.Others, []membership.MemberID{leader}):
		depends = "It leads the cluster, and only the leader itself can move the leadership away first. If it cannot be reached from here, restart its etcd, so that another voter leads. "
	case c.again != "":
		depends = sprintf("The change depends on how %s %s. ", shorts(c.s, c.f.Others), plural(len(c.f.Others), "is", "are"))
	}
	return memberAnswers(c.s, c.f.Others) + " " + depends + c.wayTo()
}

// wayTo says how members that could not be asked can be reached: at another
// address, or by trusting their hosts with the credentials.
func (c finding) wayTo() string {
	for _, m := range c.s.Members {
		if a := c.s.Answer(m.ID); a.State == membership.Unprobed && strings.HasPrefix(a.Detail, string(connection.NotAsked)) {
			return "If the members may get the credentials, add their URLs to endpoints in the provider block" + c.again + "."
		}
	}
	return "If the advertised client URLs cannot be dialled from here, or lead to a load balancer, map the URL of each member in the provider's address_map (" + guides + "bastions-and-load-balancers)" + c.again + "."
}

func (c finding) knownBadRelease() string {
	return sprintf("%s %s a release on which a promotion may be lost, at a restart or at the next upgrade (%s). Upgrade to 3.5.26 or later within 3.5 before anything else.",
		capital(members(c.s, c.f.Others)), plural(len(c.f.Others), "runs", "run"), c.f.Detail)
}
