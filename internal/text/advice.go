// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// Advice returns the text of a warning about a cluster that is only observed. s
// is the observation.
func Advice(w membership.Warning, s membership.Snapshot) string {
	a := s.Answer(w.Facts.Subject)
	c := finding{d: membership.Decision{Code: w.Code, Facts: w.Facts}, s: s}
	return Lines(c.found(map[string]any{
		"versions": versions(s), "applied": a.Applied, "term": a.Term, "size": bytes(a.DBSize), "reference": reference(s, w.Facts.Subject),
	}, advice).Detail)
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

// ClusterUnreachable returns the advice if no endpoint gave a member list.
func ClusterUnreachable(err error) string {
	return "The cluster could not be read: " + answered(err) + "."
}

// LookRefused returns the error for a cluster that refuses the provider's credentials
// or certificate, or offers a certificate that the provider does not trust.
func LookRefused(err error) Message {
	return New("Cannot read the cluster", "The endpoints that respond refuse the credentials of the provider, or have a certificate that it does not trust.%s", own(answers(err)))
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
