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
	f := w.Facts
	n := len(f.Others)
	switch w.Code {
	case membership.MemberDown:
		return sprintf("%s Bring %s back, or replace %s.", memberAnswers(s, f.Others), shorts(s, f.Others), plural(n, "it", "them"))
	case membership.SilentHere:
		return sprintf("%s The cluster is connected to %s: the advertised client URL cannot be reached from here. Map %s in the provider's address_map.",
			memberAnswers(s, f.Others), shorts(s, f.Others), plural(n, "it", "them"))
	case membership.MemberUnstarted:
		first := ""
		if slices.ContainsFunc(s.Voters(), func(m membership.Member) bool { return m.Started() && !s.Alive(m.ID) }) {
			first = " first"
		}
		return sprintf("%s Start %s, or remove %s%s.", memberAnswers(s, f.Others), shorts(s, f.Others), plural(n, "it", "them"), first)
	case membership.LearnerStands:
		return sprintf("Learner %s is %d entries behind the leader and does not move. Look at its log and at the network between it and the leader.", Member(s, f.Subject), f.Lag)
	case membership.SurvivorLeft:
		return survivor(f.Subject, s)
	case membership.ToleranceZero:
		return sprintf("No further voter may fail: %d of %d voters %s alive; quorum is %d.", f.Alive, f.Voters, plural(f.Alive, "is", "are"), f.Quorum)
	case membership.EvenVoters:
		return sprintf("%d voters tolerate the failure of %d, the same as %d. Use an odd number.", f.Voters, f.Voters-f.Quorum, f.Voters-1)
	case membership.MixedVersions:
		return "The members run different versions: " + versions(s) + ". Finish the upgrade."
	default:
		return Lines(finding{d: membership.Decision{Code: w.Code}, f: f, s: s}.detail())
	}
}

// survivor names the member with the most data after a loss of quorum, with advice.
func survivor(id membership.MemberID, s membership.Snapshot) string {
	a := s.Answer(id)
	return sprintf("%s has the most data of the members that answer: raft index %d applied, in term %d, %s. If the others cannot come back, save it before anything else "+
		"(resource etcd_snapshot with member = %q), then restore the cluster from that file.", Member(s, id), a.Applied, a.Term, bytes(a.DBSize), reference(s, id))
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
	if len(endpointsOf(err)) == 0 {
		return "The cluster could not be read: " + answer(err) + "."
	}
	return "No endpoint gave a member list. " + answered(err) + "."
}

// LookRefused returns the error for a cluster that refuses the provider's credentials
// or certificate, or offers a certificate that the provider does not trust.
func LookRefused(err error) Message {
	return New("Cannot read the cluster", "The endpoints that respond refuse the credentials of the provider, or have a certificate that it does not trust.%s", own(answers(err)))
}

// LookUnknown is the error for an observation before the provider's
// configuration is known.
var LookUnknown = New("Cannot read the cluster yet",
	"The provider's configuration is known after apply only, and a data source is read while the plan is made. "+
		"Give it depends_on with what the endpoints come from, or its own endpoints: then it is read during the apply.")

// NobodyToLookAt is the error for an observation without endpoints.
var NobodyToLookAt = New("No endpoints", "Neither the provider nor the data source has endpoints. Set them in one of the two, such as [\"https://10.0.1.10:2379\"].")

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
