// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package diag

import (
	"slices"
	"strings"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// refused words a decision that is not "go" or "done". name is what the operator
// calls the member;
// s is the snapshot that the decision was taken on. A decision to wait has a
// text as well, for the moment when time has run out.
func refused(action reconfigure.Action, name string, d membership.Decision, s membership.Snapshot) Text {
	name = orOwn(name, s, d.Facts.Subject)
	c := refusal{action: action, name: name, d: d, f: d.Facts, s: s}
	return Text{Summary: summary(action, name), Detail: c.detail()}
}

type refusal struct {
	action reconfigure.Action
	name   string
	d      membership.Decision
	f      membership.Facts
	s      membership.Snapshot
}

func (c refusal) detail() string {
	switch c.d.Code {
	case membership.QuorumLost:
		return c.quorumLost()
	case membership.NoLeader:
		return c.noLeader()
	case membership.MixedClusters:
		return c.mixedClusters()
	case membership.ListMoved:
		return "The member list could not be confirmed, or changed while the members were asked: somebody else is changing this cluster. Apply again when they have finished."
	case membership.ListsDiffer:
		return sprintf("The voters do not give the same member list, and none has a majority (%d of %d): %s %s another list than the rest. "+
			"Nothing was changed. If this lasts, compare what `etcdctl member list` answers at each member. One whose list stays different is at fault: stop it, or remove it, then apply again.",
			c.f.Quorum, c.f.Voters, members(c.s, c.f.Others), plural(len(c.f.Others), "gives", "give"))
	case membership.NotProbed:
		return c.notProbed()
	case membership.MemberDown, membership.MemberUnstarted:
		return c.memberGone()
	case membership.LearnerSlotTaken:
		return c.slotTaken()
	case membership.BelowQuorum:
		return c.belowQuorum()
	case membership.NameTaken:
		return sprintf("The name %s belongs to %s. Choose another name; if that member is meant, import it.", c.f.Detail, members(c.s, c.f.Others))
	case membership.URLTaken:
		return sprintf("The peer URL %s belongs to %s. Choose another URL; if that member is meant, import it.", c.f.Detail, members(c.s, c.f.Others))
	case membership.LoopbackURL:
		return c.loopbackURL()
	case membership.BadURL:
		return PeerURL(&membership.URLError{URL: c.f.Detail, Problem: c.f.Problem}).Detail
	case membership.NotMember:
		return sprintf("The member list of cluster %s has no member %s: it was removed. An ID that was removed never returns; remove it from the state or replace it, so that it joins as a new member.", c.s.ClusterID, c.f.Subject)
	case membership.NotStarted:
		return c.notStarted()
	case membership.NotAlive:
		return c.notAlive()
	case membership.OtherLeader:
		return c.otherLeader()
	case membership.Lagging:
		return sprintf("%s is %d entries behind the leader; %d are allowed (max_lag). It stays a learner. If it does not catch up, look at its log and at the network between it and the leader, then apply again.",
			capital(Member(c.s, c.f.Subject)), c.f.Lag, c.f.MaxLag)
	case membership.Unconfirmed:
		return c.unconfirmed()
	case membership.LastVoter:
		return c.lastVoter()
	case membership.NotOurs:
		return c.notOurs()
	case membership.OthersNotActive:
		return sprintf("A live member is taken out to be replaced only while every other member is active. %s %s, then apply again. Nothing was changed.",
			memberAnswers(c.s, c.f.Others), c.remedy())
	case membership.TurnOfAnother:
		return "A live member is taken out to be replaced only when no other replacement is under way. " + turns(c.f.Turns) + " Nothing was changed. " + turnsWayOut(c.f.Turns)
	case membership.VersionTooOld:
		return c.versionTooOld()
	case membership.VoterLives:
		return c.voterLives()
	case membership.AlarmRaised:
		return c.alarmRaised()
	default:
		return sprintf("The change was held back: %s. Nothing was changed.", c.d.Code)
	}
}

// turns says which replacements are not over.
func turns(open []membership.Turn) string {
	var out []string
	for _, t := range open {
		out = append(out, sprintf("%s was taken out at %s by %s, and its successor has no vote yet.", t.Name, t.Since.UTC().Format(time.RFC3339), t.By))
	}
	return strings.Join(out, " ")
}

func turnsWayOut(open []membership.Turn) string {
	var names, keys []string
	for _, t := range open {
		names = append(names, t.Name)
		if t.Key != "" {
			keys = append(keys, "\n  etcdctl del "+shellWord(t.Key))
		}
	}
	forged := ""
	if len(keys) > 0 {
		forged = "\n\nIf no run of this provider has written that record, find out who did, and delete it:\n" + strings.Join(keys, "")
	}
	return sprintf("Let %s join first: if no other run is at it, apply without this replacement. "+
		"If %s never to come back, take %s out of the configuration, or add another member instead.",
		strings.Join(names, ", "), plural(len(names), "it is", "they are"), plural(len(names), "its etcd_member_config", "their etcd_member_config")) + forged
}

func (c refusal) quorumLost() string {
	answer := c.f.Voters - len(c.f.Others)
	back := capital(shorts(c.s, c.f.Others))
	if need := c.f.Quorum - answer; need < len(c.f.Others) {
		back = sprintf("At least %d of %s", need, shorts(c.s, c.f.Others))
	}
	return sprintf("The cluster has lost its quorum: %d of %d voters %s; quorum is %d. Nothing was changed. %s %s must come back; then apply again. "+
		"If that cannot be, a person must recover the cluster: from a snapshot (etcdutl snapshot restore) into a new cluster, or by starting the most advanced survivor with --force-new-cluster; this provider never does either. The guide \"When quorum is lost\" has the steps.",
		answer, c.f.Voters, plural(answer, "answers", "answer"), c.f.Quorum, memberAnswers(c.s, c.f.Others), back)
}

func (c refusal) noLeader() string {
	const next = "An election takes a second or two. If this lasts, look at the network between the members, then apply again."
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

func (c refusal) mixedClusters() string {
	const next = "Nothing was changed. See how each was started (members that did not understand their bootstrap form a cluster each), stop what does not belong here or take it out of the endpoints, then apply again."
	if len(c.f.Others) > 0 {
		return memberAnswers(c.s, c.f.Others) + " " + next
	}
	ids := make([]membership.ClusterID, 0, len(c.s.Others))
	for id := range c.s.Others {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	var others []string
	for _, id := range ids {
		others = append(others, sprintf("%s answers for cluster %s", strings.Join(c.s.Others[id], ", "), id))
	}
	return sprintf("The endpoints do not lead to one cluster: this one is %s, but %s. %s", c.s.ClusterID, strings.Join(others, ", and "), next)
}

const addressMap = "If the advertised client URLs cannot be dialled from here, or lead to a load balancer, say in the provider's address_map where each member is, then apply again."

func (c refusal) notProbed() string {
	if len(c.f.Others) == 0 {
		return "No voter is known. " + wayTo(c.s)
	}
	return sprintf("%s The change depends on how %s %s. %s", memberAnswers(c.s, c.f.Others),
		shorts(c.s, c.f.Others), plural(len(c.f.Others), "is", "are"), wayTo(c.s))
}

func (c refusal) memberGone() string {
	why := sprintf("If %s failed as a voter, %d of %d voters would be alive; quorum would be %d.", c.name, c.f.Alive, c.f.Voters, c.f.Quorum)
	if c.f.Alive >= c.f.Quorum {
		why = "Servers of this version let a member in only while every voter is connected."
	}
	stays := ""
	if c.f.Subject != 0 { // a promotion, perhaps within an addition
		stays = sprintf(" %s stays a learner.", capital(short(c.s, c.f.Subject)))
	}
	return sprintf("%s %s%s Bring %s back, or remove %s first, then apply again.",
		why, memberAnswers(c.s, c.f.Others), stays, shorts(c.s, c.f.Others), plural(len(c.f.Others), "it", "one of them"))
}

func (c refusal) slotTaken() string {
	n := len(c.f.Others)
	var unhealthy []membership.MemberID
	for _, id := range c.f.Others {
		if !c.s.Alive(id) {
			unhealthy = append(unhealthy, id)
		}
	}
	said := ""
	if len(unhealthy) > 0 {
		said = " " + memberAnswers(c.s, unhealthy)
	}
	return sprintf("The cluster takes no more learners now: the %s taken by %s.%s Promote or remove %s first, or start every member with a higher --max-learners (etcd 3.6 and later), then apply again.",
		plural(n, "slot is", "slots are"), members(c.s, c.f.Others), said, plural(n, "it", "one of them"))
}

func (c refusal) belowQuorum() string {
	return sprintf("Without %s %d of %d voters would be alive; quorum is %d. %s %s, then apply again.",
		Member(c.s, c.f.Subject), c.f.Alive, c.f.Voters, c.f.Quorum, memberAnswers(c.s, c.f.Others), c.remedy())
}

// remedy is what to do about the others.
func (c refusal) remedy() string {
	who := shorts(c.s, c.f.Others)
	if c.d.Verdict == membership.Wait {
		return sprintf("%s %s to be removed in the same run and must go first: see what holds that up", who, plural(len(c.f.Others), "is", "are"))
	}
	return sprintf("Bring %s back or replace %s", who, plural(len(c.f.Others), "it", "them"))
}

func (c refusal) loopbackURL() string {
	if len(c.f.Others) == 0 {
		return sprintf("%s is an address to listen on; no other machine can dial it. Give the URL at which others reach this member.", c.f.Detail)
	}
	return sprintf("%s can be reached on its own machine only, and this cluster has members elsewhere: %s. Give the URL at which they reach this member.", c.f.Detail, members(c.s, c.f.Others))
}
