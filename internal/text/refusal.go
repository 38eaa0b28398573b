// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// refused returns the error for a decision that is not "go" or "done". name is
// the operator's name for the member; s is the snapshot of the decision. A
// decision to wait has a text too, which is shown after a timeout.
func refused(action reconfigure.Action, name string, d membership.Decision, s membership.Snapshot) Message {
	name = orOwn(name, s, d.Facts.Subject)
	t := finding{action: action, name: name, Decision: d, s: s, held: true, again: ", then apply again"}.text(refusals)
	return Message{summary(action, name), t.Detail}
}

// reason is the detail of [refused] in a text that says itself what was changed.
func reason(action reconfigure.Action, name string, d membership.Decision, s membership.Snapshot) string {
	return finding{action: action, name: orOwn(name, s, d.Facts.Subject), Decision: d, s: s, again: ", then apply again"}.text(refusals).Detail
}

const (
	election = "An election takes a second or two. If this lasts, look at the network between the members{again}."
	runsEtcd = "{Others} {runs|run} etcd {detail}"
	noWrites = "{raised} Nothing can be written until the alarm is disarmed, "
)

// refusals are the wordings of refused changes. What is only observed has the same,
// unless there are others.
var refusals = wordings{
	membership.QuorumLost: {{cause: "The cluster has lost its quorum: {responding}; quorum is {quorum}.",
		next: "{answers} Bring {back} back{again}. If that is not possible, recover the cluster: save the data of a survivor, " +
			"then restore it with the argument restore of etcd_cluster. The guide \"Disaster recovery\" has the steps (" + guides + "disaster-recovery#steps)."}},
	membership.NoLeader: {
		{when: finding.hasOthers, cause: "The leader itself cannot be heard. {answers}", next: election},
		{cause: "A quorum of the voters ({quorum} of {voters}) must name one leader and serve reads. {views}.", next: election},
	},
	membership.MixedClusters: {{cause: "{mixed}",
		next: "See how each was started (members that did not understand their bootstrap form a cluster each), stop what does not belong here or remove it from the endpoints{again}."}},
	membership.ListMoved: {{cause: "The member list could not be confirmed, or changed while the members were asked: another process is changing this cluster.",
		next: "Wait until it has finished{again}."}},
	membership.ListsDiffer: {{cause: "The voters do not give the same member list, and none has a majority ({quorum} of {voters}): {others} {gives|give} another list than the rest.",
		next: "If this lasts, compare what `etcdctl member list` answers at each member. One whose list stays different is at fault: stop it, or remove it{again}."}},
	membership.NotProbed: {
		{when: finding.isAlone, cause: "No voter is known.", next: "{way}"},
		{when: finding.leads, cause: "{answers} It leads the cluster, and only the leader itself can move the leadership away first.",
			next: "If it cannot be reached from here, restart its etcd, so that another voter leads. {way}"},
		{when: finding.isChange, cause: "{answers} The change depends on how {shorts} {is|are}.", next: "{way}"},
		{cause: "{answers}", next: "{way}"},
	},
	membership.MemberDown:      {memberGone},
	membership.MemberUnstarted: {memberGone},
	membership.LearnerSlotTaken: {{cause: "The cluster takes no more learners now: the {slot is|slots are} taken by {others}. {unhealthy}",
		next: "Promote or remove {it|one of them} first, or start every member with a higher --max-learners (etcd 3.6 and later){again}.{removal}"}},
	membership.URLsPending: {{cause: "Until the others are known to find a member at its new peer URLs, its next restart may cut it off. {answers}", next: "{prove}{again}."}},
	membership.BelowQuorum: {{cause: "Without {subject} {alive} of {voters} voters would be alive; quorum is {quorum}. {answers}", next: "{remedy}{again}.{removal}"}},
	membership.NameTaken:   {{cause: "The name {detail} belongs to {others}.", next: "Choose another name; if that member is meant, import it."}},
	membership.URLTaken:    {{cause: "The peer URL {detail} belongs to {others}.", next: "Choose another URL; if that member is meant, import it."}},
	membership.BadURL:      {{cause: "{problem}"}},
	membership.LoopbackURL: {
		{when: finding.isAlone, cause: "{detail} is an address to listen on; no other machine can dial it.", next: "Give the URL at which others reach this member."},
		{cause: "{detail} can be reached on its own machine only, and this cluster has members elsewhere: {others}.", next: "Give the URL at which they reach this member."},
	},
	membership.NotMember: {{cause: "The member list of cluster {cluster} has no member {id}: it was removed.",
		next: "An ID that was removed never returns; remove it from the state or replace it, so that it joins as a new member."}},
	membership.NotStarted: {{cause: "{who} was added with the peer URLs {urls} and has not started: its process does not run, cannot reach the other members, or does not listen there.",
		next: "Look at its log, correct what is wrong{again}."}},
	membership.NotAlive: {
		{when: finding.lives, cause: "{Subject} is a learner in the member list, but {detail}.", next: "Apply again; if this stays so, remove the member and add it again."},
		{cause: "{answer}", next: "Bring it back{again}."},
	},
	membership.OtherLeader: {{cause: "{view}; the voters name {others} in term {term}.",
		next: "Look at the network between it and the others{again}."}},
	membership.Lagging: {{cause: "{Subject} is {lag} entries behind the leader; {most} are allowed.",
		next: "If it does not catch up, look at its log and at the network between it and the leader{again}."}},
	membership.Unconfirmed: {
		{when: finding.learns, cause: "{Subject} has caught up, but its connection to the leader was not stable for two checks in a row.",
			next: "Apply again. If this repeats, check the network between it and the leader."},
		{cause: "The member list says that {subject} is a voter, and the member itself does not say so yet.", next: "Apply again."},
	},
	membership.LastVoter: {
		{when: finding.isReplacement, cause: "{Subject} is the only voter: to replace it would be to lose the data.", next: "Add another member first{again}."},
		{when: finding.waits, cause: "{Subject} is the only voter, and {others} must be removed before it.", next: "See what holds that up{again}."},
		{when: finding.hasOthers, cause: "{Subject} is the only voter, and {others} {is|are} left: without it the cluster is gone.",
			next: "Remove {that learner|those learners} first, or promote {it|one of them}{again}."},
		{cause: "{Subject} is the only voter: no other member can lead, and the cluster ends with its process."},
	},
	membership.NotOurs: {{cause: "{Subject} has the peer URLs {urls}, and the state knows it as {detail}.", next: "If its peer URLs were changed outside Terraform, apply again with a refresh. " +
		"If it is another member, forget it. " + afterWith + ":\n\n  terraform state rm 'ADDRESS'"}},
	membership.OthersNotActive: {{cause: "A live member is removed for its replacement only while every other member is active. {answers}", next: "{remedy}{again}.{removal}"}},
	membership.TurnOfAnother:   {{cause: "A live member is removed for its replacement only when no other replacement is under way. {turns}", next: "{finish}"}},
	membership.VersionTooOld: {
		{when: finding.isUpdate, cause: runsEtcd + ", which forgets that a member is a learner when its peer URLs are updated (etcd-io/etcd#21694).",
			next: "Remove the learner and add it again with the new URLs, or upgrade to 3.5.31, 3.6.12 or later first."},
		{when: finding.hasSubject, cause: runsEtcd + ", by which a cluster of one cannot promote a learner (etcd-io/etcd#11633).", next: "Upgrade to 3.4.4 or later{again}."},
		{cause: runsEtcd + ", which knows no learners, and a member is never added in any other way.", next: "Upgrade to 3.4 or later{again}."},
	},
	membership.VoterLives: {{cause: "The node of {name} is rebuilt, and its member {subject} is still a voting member: {vote}. A voter that lives is never removed with its node.",
		next: "The machine of the old node still runs: stop it{again}."}},
	membership.AlarmRaised: {
		{when: finding.isChange, cause: noWrites + "so members change only after that.", next: "{disarm}"},
		{cause: "{raised}", next: "{disarm}"},
	},
	membership.KnownBadRelease: {{cause: "{Others} {runs|run} a release on which a promotion may be lost, at a restart or at the next upgrade ({detail}).",
		next: "Upgrade to 3.5.26 or later within 3.5 before anything else."}},
}

var memberGone = words{cause: "{why} {answers}", next: "Bring {shorts} back, or remove {it|one of them} first{again}.{removal}"}

// The conditions of wordings.

func (c finding) hasOthers() bool     { return len(c.Facts.Others) > 0 }
func (c finding) isAlone() bool       { return len(c.Facts.Others) == 0 }
func (c finding) hasSubject() bool    { return c.Facts.Subject != 0 }
func (c finding) isChange() bool      { return c.again != "" }
func (c finding) isUpdate() bool      { return c.action == reconfigure.ActionUpdate }
func (c finding) isReplacement() bool { return c.action == reconfigure.ActionReplace }
func (c finding) isRemoval() bool {
	return c.action == reconfigure.ActionRemove || c.isReplacement()
}
func (c finding) waits() bool  { return c.Verdict == membership.Wait }
func (c finding) lives() bool  { return c.s.Alive(c.Facts.Subject) }
func (c finding) learns() bool { return c.member().Learner }
func (c finding) member() membership.Member {
	m, _ := c.s.Member(c.Facts.Subject)
	return m
}
func (c finding) leads() bool {
	leader, _, _ := c.s.MajorityLeader()
	return c.Facts.Subject == leader && slices.Equal(c.Facts.Others, []membership.MemberID{leader})
}

func unhealthy(s membership.Snapshot, ids []membership.MemberID) []membership.MemberID {
	return slices.DeleteFunc(slices.Clone(ids), s.Alive)
}

func (c finding) responding() string {
	n := c.Facts.Voters - len(c.Facts.Others)
	return sprintf("%d of %d voters %s", n, c.Facts.Voters, plural(n, "answers", "answer"))
}

// back says which of the others must come back for a quorum.
func (c finding) back() string {
	back := shorts(c.s, c.Facts.Others)
	if need := c.Facts.Quorum - c.Facts.Voters + len(c.Facts.Others); need < len(c.Facts.Others) {
		return sprintf("at least %d of %s", need, back)
	}
	return back
}

// removal returns the commands that remove those members that never started, and those
// learners that do not answer: what added them may be in no configuration any more. The
// cluster loses nothing with them.
func removal(s membership.Snapshot, ids []membership.MemberID) string {
	var commands []string
	for _, id := range ids {
		if m, ok := s.Member(id); ok && !s.Alive(id) && (m.Learner || !m.Started()) {
			commands = append(commands, "\n  etcdctl member remove "+id.String())
		}
	}
	if len(commands) == 0 {
		return ""
	}
	return sprintf("\n\nIf no configuration has %s any more, run:\n", plural(len(commands), "it", "them")) + strings.Join(commands, "")
}

// why says why every other member must be alive for an addition or a promotion.
func (c finding) why() string {
	if c.Facts.Alive >= c.Facts.Quorum {
		return "Servers of this version add a member only while every voter is connected."
	}
	return sprintf("If %s failed as a voter, %d of %d voters would be alive; quorum would be %d.", c.name, c.Facts.Alive, c.Facts.Voters, c.Facts.Quorum)
}

// remedy says what to do about the other members.
func (c finding) remedy() string {
	who, n := shorts(c.s, c.Facts.Others), len(c.Facts.Others)
	if c.waits() {
		return sprintf("%s %s to be removed in the same run and must go first: see what holds that up", who, plural(n, "is", "are"))
	}
	return remedyFor(c.s, c.Facts.Others)
}

func (c finding) who() string {
	if c.name == c.Facts.Subject.String() {
		return "Member " + c.name
	}
	return sprintf("%s (%s)", c.name, c.Facts.Subject)
}

// turns lists the replacements that are not complete.
func turns(open []membership.Turn) string {
	return strings.Join(each(open, func(t membership.Turn) string {
		return sprintf("%s was removed at %s by %s, and its replacement is not a voting member yet.", t.Name, t.Since.UTC().Format(time.RFC3339), t.By)
	}), " ")
}

func turnsRemedy(open []membership.Turn) string {
	var names, keys []string
	for _, t := range open {
		names = append(names, t.Name)
		if t.Key != "" {
			keys = append(keys, "\n  etcdctl del "+shellWord(t.Key))
		}
	}
	ends := ""
	if len(keys) > 0 {
		ends = sprintf("\n\nIf no configuration has %s any more, or no run of this provider wrote the record of its removal, delete the record:\n", plural(len(names), "it", "them")) + strings.Join(keys, "")
	}
	return sprintf("Let %s join first: if no other run is at it, apply without this replacement. "+
		"If %s never to come back, remove %s from the configuration, or add another member instead.",
		strings.Join(names, ", "), plural(len(names), "it is", "they are"), plural(len(names), "it", "them")) + ends
}

// views says which leader each voter names.
func views(s membership.Snapshot) string {
	return strings.Join(each(s.Voters(), func(m membership.Member) string {
		if !s.Answer(m.ID).IsOf(m.ID, s.ClusterID) {
			return strings.TrimSuffix(MemberAnswer(s, m.ID), ".")
		}
		return view(s, m.ID)
	}), "; ")
}

// view says which leader a member names.
func view(s membership.Snapshot, id membership.MemberID) string {
	a := s.Answer(id)
	if a.Leader == 0 {
		return Member(s, id) + " knows no leader"
	}
	return sprintf("%s names %s in term %d", Member(s, id), short(s, a.Leader), a.Term)
}

// mixed says which endpoints lead to which cluster.
func mixed(s membership.Snapshot, ids []membership.MemberID) string {
	if len(ids) > 0 {
		return memberAnswers(s, ids)
	}
	others := each(slices.Sorted(maps.Keys(s.Others)), func(id membership.ClusterID) string { return sprintf("%s answers for cluster %s", s.Others[id], id) })
	return sprintf("The endpoints do not lead to one cluster: this one is %s, but %s.", s.ClusterID, strings.Join(others, ", and "))
}

// accessRemedy says how members that could not be asked can be reached: at another
// address, or by trusting their hosts with the credentials.
func (c finding) accessRemedy() string {
	for _, m := range c.s.Members {
		if a := c.s.Answer(m.ID); a.State == membership.Unprobed && strings.HasPrefix(a.Detail, string(connection.NotAsked)) {
			return "If the members may get the credentials, add their URLs to endpoints in the provider block" + c.again + "."
		}
	}
	return "If the advertised client URLs cannot be dialled from here, or lead to a load balancer, map the URL of each member in the provider's address_map (" + guides + "network-and-security#bastions-tunnels-and-load-balancers)" + c.again + "."
}
