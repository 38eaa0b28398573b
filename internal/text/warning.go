// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// Advice returns the text of a warning about a cluster that is only observed. s
// is the observation.
func Advice(w membership.Warning, s membership.Snapshot) string {
	a := s.Answer(w.Facts.Subject)
	found, fixed := membership.DefectsOf(w.Facts.Detail, w.Code == membership.KnownBypasses)
	defects := each(found, func(d membership.Defect) string { return d.Harm + " (" + d.Source + ")" })
	c := finding{Decision: membership.Decision{Code: w.Code, Facts: w.Facts}, s: s}
	c.more = map[string]any{
		"versions": versions(s), "applied": a.Applied, "term": a.Term, "size": bytes(a.DBSize), "reference": reference(s, w.Facts.Subject),
		"defects": strings.Join(defects, "; "), "fixed": fixed,
	}
	return Lines(c.text(advice, refusals).Detail)
}

var advice = wordings{
	membership.MemberDown: {{cause: "{answers}", next: "Bring {shorts} back, or replace {it|them}."}},
	membership.SilentHere: {{cause: "{answers} The cluster is connected to {shorts}: the advertised client URL cannot be reached from here.",
		next: "Map {it|them} in the provider's address_map."}},
	membership.MemberUnstarted: {
		{when: finding.someVoterIsDown, cause: "{answers}", next: "Start {shorts}, or remove {it|them} first."},
		{cause: "{answers}", next: "Start {shorts}, or remove {it|them}."},
	},
	membership.LearnerStands: {{cause: "Learner {subject} is {lag} entries behind the leader and does not move.", next: "Look at its log and at the network between it and the leader."}},
	membership.SurvivorLeft: {{cause: "{subject} has the most data of the members that answer: raft index {applied} applied, in term {term}, {size}.",
		next: "If the others cannot come back, save it before anything else (resource etcd_snapshot with member = \"{reference}\"), then restore the cluster from that file."}},
	membership.ToleranceZero: {{cause: "No further voter may fail. Alive: {alive} of {voters} voters. Quorum: {quorum}."}},
	membership.EvenVoters:    {{cause: "{voters} voters tolerate the failure of {spare}, the same as {fewer}.", next: "Use an odd number."}},
	membership.MixedVersions: {{cause: "The members run different versions: {versions}.", next: "Finish the upgrade."}},
	membership.CertificateEnds: {{cause: "{Others} {presents|present} a certificate that is valid for less than 30 days, until {detail} at the earliest.",
		next: "Renew it on the machine. etcd reads the files again for each new connection, so it needs no restart, and the machine is not replaced."}},
	membership.KnownDefects:  {{cause: "{Others} {runs|run} etcd {detail}, which has known defects: {defects}.", next: "Upgrade to {fixed} or later."}},
	membership.KnownBypasses: {{cause: "{Others} {runs|run} etcd {detail}, in which permissions can be bypassed: {defects}.", next: "Upgrade to {fixed} or later."}},
}

func (c finding) someVoterIsDown() bool {
	return slices.ContainsFunc(c.s.Voters(), func(m membership.Member) bool { return m.Started() && !c.s.Alive(m.ID) })
}

// reference returns what an argument accepts for a member: its name if the name
// is unique, otherwise its ID.
func reference(s membership.Snapshot, id membership.MemberID) string {
	if m, ok := s.Member(id); ok && len(s.Find(m.Name)) == 1 {
		return m.Name
	}
	return id.String()
}

// versions lists which members run which version, as in "3.5.35 (a), 3.6.16 (b and c)".
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

// raisedAlarm says which members raised which alarm, and what it means.
func raisedAlarm(f membership.Facts, s membership.Snapshot) string {
	means := map[string]string{
		membership.AlarmNoSpace: ": a database has reached its quota",
		membership.AlarmCorrupt: ": the data of " + shorts(s, f.Others) + " differs from the data of the other members",
	}[f.Detail]
	return sprintf("%s raised the alarm %s%s.", capital(members(s, f.Others)), f.Detail, means)
}

// alarmRemedies say how the cause of an alarm is removed.
var alarmRemedies = map[string]string{
	membership.AlarmNoSpace: "First make space: compact (etcdctl compaction REVISION), then defragment every member (the action etcd_defragment); or start the members with a larger --quota-backend-bytes.",
	membership.AlarmCorrupt: "First find out whose data differs from the others' (etcdctl endpoint hashkv --cluster), and replace or remove that member.",
}

// alarmRemedy says what to do about an alarm. last is the final step, or "".
func alarmRemedy(kind, last string) string {
	return cmp.Or(alarmRemedies[kind], "First remove its cause.") + " Then disarm" + disarm(last)
}

// disarm returns the end of a sentence that begins with "Disarm", with the command.
func disarm(last string) string {
	if last == "" {
		return " the alarm (etcdctl alarm disarm)."
	}
	return sprintf(" the alarm and %s:\n\n  etcdctl alarm disarm", last)
}

// disarm says what to do about the alarm that was found.
func (c finding) disarm() string {
	last := strings.TrimPrefix(c.again, ", then ")
	listed := slices.ContainsFunc(c.Facts.Others, func(id membership.MemberID) bool { _, ok := c.s.Member(id); return ok })
	switch corrupt := c.Facts.Detail == membership.AlarmCorrupt; {
	case corrupt && !c.held && slices.Equal(c.Facts.Others, []membership.MemberID{c.Facts.Subject}): // it is being removed
		return "Disarm" + disarm(last)
	case corrupt && c.held && !listed: // its removal does not disarm the alarm
		return "The corrupt member is no longer in the cluster. Disarm" + disarm(last)
	}
	return alarmRemedy(c.Facts.Detail, last)
}

// WarningText returns the warning about a change that continues. action, name
// and s are as in [refused].
func WarningText(action reconfigure.Action, name string, w membership.Warning, s membership.Snapshot) Message {
	return finding{action: action, name: orOwn(name, s, w.Facts.Subject), Decision: membership.Decision{Code: w.Code, Facts: w.Facts}, s: s, again: ", then apply again"}.text(warnings)
}

const ifItFails = "If {name} failed as a voter, {alive} of {voters} voters would be alive; quorum would be {quorum}."

func (c finding) doing() string {
	doing := map[reconfigure.Action]string{
		reconfigure.ActionAdd: "Adding", reconfigure.ActionPromote: "Promoting", reconfigure.ActionRemove: "Removing", reconfigure.ActionReplace: "Replacing",
	}[c.action]
	return cmp.Or(doing, "Changing") + " member " + c.name
}

var warnings = wordings{
	membership.MemberDown: {{summary: "{doing} while {shorts} {is|are} down",
		cause: "{answers} The change is safe without {it|them}. " + ifItFails, next: "Bring {it|them} back or remove {it|them} soon."}},
	membership.MemberUnstarted: {{summary: "{doing} while {shorts} {has|have} not started",
		cause: "{answers} The change is safe without {it|them}. " + ifItFails, next: "Start {it|them} or remove {it|them} soon."}},
	membership.URLsPending: {{summary: "{doing} while peer URLs of {shorts} are pending",
		cause: "{answers} The change is safe without {it|them}. " + ifItFails, next: "{remedy}."}},
	membership.NotProbed: {{summary: "{doing} without an answer of {shorts}",
		cause: "{answers} The change is safe even if {it is|they are} down. " + ifItFails, next: "{way}"}},
	membership.ToleranceZero: {
		{when: finding.isRemoval, summary: "{doing} leaves no tolerance",
			cause: "Without {subject} {alive} of {voters} voters are alive; quorum is {quorum}: no further voter may fail. {answers}"},
		{summary: "{doing} leaves no tolerance", cause: ifItFails + " If it does, no further voter may fail. {answers}"},
	},
	membership.KnownBadRelease: {{summary: "{doing} on a release with a known bug",
		cause: refusals[membership.KnownBadRelease][0].cause, next: refusals[membership.KnownBadRelease][0].next}},
	membership.AlarmRaised: {{summary: "{doing} under the alarm {detail}",
		cause: noWrites + "so this change is not guarded against other Terraform runs at the same time.", next: "{disarm}"}},
	membership.Unmanaged: {{summary: "Member {name} is no longer managed",
		cause: "The node of {name} was removed, and its member {subject} is still a voting member: {vote}. A voter that lives is never removed with its node, so it stays in the cluster.",
		next: "To manage it again, import it; ADDRESS is the address of an etcd_member for it:\n\n" +
			"  terraform import 'ADDRESS' {id}\n\nTo remove it from the cluster instead, run:\n\n  etcdctl member remove {id}"}},
	membership.RecordDisagrees: {{summary: "The record of member {name} is wrong",
		cause: "The ownership record of this node names {subject}. Record, node and member list do not agree on its owner, its name or its peer URLs. " +
			"No member was removed, and the record was deleted.",
		next: "If that member was added for {name}, remove it:\n\n  etcdctl member remove {id}"}},
}

// vote says why a voter is not known to be dead.
func vote(s membership.Snapshot, id membership.MemberID) string {
	if s.Alive(id) {
		return "it answers at " + s.Answer(id).Endpoint
	}
	return "it is not known to be dead, because the leader may still have a connection to it"
}
