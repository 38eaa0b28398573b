// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"strings"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// refused returns the error for a decision that is not "go" or "done". name is
// the operator's name for the member; s is the snapshot of the decision. A
// decision to wait has a text too, which is shown after a timeout.
func refused(action reconfigure.Action, name string, d membership.Decision, s membership.Snapshot) Message {
	name = orOwn(name, s, d.Facts.Subject)
	c := finding{action, name, d, d.Facts, s, " Nothing was changed.", ", then apply again"}
	return Message{summary(action, name), c.detail()}
}

// finding is a code and its context. Each code has one wording. If a change was
// refused, held says so and again says what to do next. Both are empty if the
// cluster was only observed.
type finding struct {
	action reconfigure.Action
	name   string
	d      membership.Decision
	f      membership.Facts
	s      membership.Snapshot

	held, again string
}

// wordings maps each code to its cause and advice.
var wordings = map[membership.Code]func(finding) string{
	membership.QuorumLost:       finding.quorumLost,
	membership.NoLeader:         finding.noLeader,
	membership.MixedClusters:    finding.mixedClusters,
	membership.ListMoved:        finding.listMoved,
	membership.ListsDiffer:      finding.listsDiffer,
	membership.NotProbed:        finding.notProbed,
	membership.MemberDown:       finding.memberGone,
	membership.MemberUnstarted:  finding.memberGone,
	membership.LearnerSlotTaken: finding.slotTaken,
	membership.BelowQuorum:      finding.belowQuorum,
	membership.NameTaken:        finding.nameTaken,
	membership.URLTaken:         finding.urlTaken,
	membership.LoopbackURL:      finding.loopbackURL,
	membership.BadURL:           finding.badURL,
	membership.NotMember:        finding.notMember,
	membership.NotStarted:       finding.notStarted,
	membership.NotAlive:         finding.notAlive,
	membership.OtherLeader:      finding.otherLeader,
	membership.Lagging:          finding.lagging,
	membership.Unconfirmed:      finding.unconfirmed,
	membership.LastVoter:        finding.lastVoter,
	membership.NotOurs:          finding.notOurs,
	membership.OthersNotActive:  finding.othersNotActive,
	membership.TurnOfAnother:    finding.turnOfAnother,
	membership.VersionTooOld:    finding.versionTooOld,
	membership.VoterLives:       finding.voterLives,
	membership.AlarmRaised:      finding.alarmRaised,
	membership.KnownBadRelease:  finding.knownBadRelease,
}

func (c finding) detail() string {
	if words, ok := wordings[c.d.Code]; ok {
		return words(c)
	}
	return sprintf("Look at the cluster: %s.%s", c.d.Code, c.held)
}

func (c finding) othersNotActive() string {
	return sprintf("A live member is removed for its replacement only while every other member is active. %s %s, then apply again. Nothing was changed.",
		memberAnswers(c.s, c.f.Others), c.remedy())
}

func (c finding) turnOfAnother() string {
	return "A live member is removed for its replacement only when no other replacement is under way. " + turns(c.f.Turns) + " Nothing was changed. " + turnsWayOut(c.f.Turns)
}

// turns lists the replacements that are not complete.
func turns(open []membership.Turn) string {
	var out []string
	for _, t := range open {
		out = append(out, sprintf("%s was removed at %s by %s, and its replacement is not a voting member yet.", t.Name, t.Since.UTC().Format(time.RFC3339), t.By))
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
		"If %s never to come back, remove %s from members of the etcd_cluster, or add another member instead.",
		strings.Join(names, ", "), plural(len(names), "it is", "they are"), plural(len(names), "it", "them")) + forged
}

func (c finding) memberGone() string {
	why := sprintf("If %s failed as a voter, %d of %d voters would be alive; quorum would be %d.", c.name, c.f.Alive, c.f.Voters, c.f.Quorum)
	if c.f.Alive >= c.f.Quorum {
		why = "Servers of this version add a member only while every voter is connected."
	}
	stays := ""
	if c.f.Subject != 0 { // a promotion, possibly as part of an addition
		stays = sprintf(" %s stays a learner.", capital(short(c.s, c.f.Subject)))
	}
	return sprintf("%s %s%s Bring %s back, or remove %s first, then apply again.",
		why, memberAnswers(c.s, c.f.Others), stays, shorts(c.s, c.f.Others), plural(len(c.f.Others), "it", "one of them"))
}

func (c finding) slotTaken() string {
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

func (c finding) belowQuorum() string {
	return sprintf("Without %s %d of %d voters would be alive; quorum is %d. %s %s, then apply again.",
		Member(c.s, c.f.Subject), c.f.Alive, c.f.Voters, c.f.Quorum, memberAnswers(c.s, c.f.Others), c.remedy())
}

// remedy says what to do about the other members.
func (c finding) remedy() string {
	who := shorts(c.s, c.f.Others)
	if c.d.Verdict == membership.Wait {
		return sprintf("%s %s to be removed in the same run and must go first: see what holds that up", who, plural(len(c.f.Others), "is", "are"))
	}
	return sprintf("Bring %s back or replace %s", who, plural(len(c.f.Others), "it", "them"))
}

func (c finding) nameTaken() string {
	return sprintf("The name %s belongs to %s. Choose another name; if that member is meant, import it.", c.f.Detail, members(c.s, c.f.Others))
}

func (c finding) urlTaken() string {
	return sprintf("The peer URL %s belongs to %s. Choose another URL; if that member is meant, import it.", c.f.Detail, members(c.s, c.f.Others))
}

func (c finding) badURL() string {
	return peerURLDetail(&membership.URLError{URL: c.f.Detail, Problem: c.f.Problem})
}

func (c finding) loopbackURL() string {
	if len(c.f.Others) == 0 {
		return sprintf("%s is an address to listen on; no other machine can dial it. Give the URL at which others reach this member.", c.f.Detail)
	}
	return sprintf("%s can be reached on its own machine only, and this cluster has members elsewhere: %s. Give the URL at which they reach this member.", c.f.Detail, members(c.s, c.f.Others))
}
