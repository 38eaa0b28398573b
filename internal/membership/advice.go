// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"slices"
	"time"
)

// Codes that only advice uses, see [Snapshot.Advise].
const (
	// SilentHere: the others do not answer here, but a member of their cluster is
	// connected to them.
	SilentHere Code = "silent here"
	// LearnerStands: the subject is a learner that lags and applies nothing.
	LearnerStands Code = "learner stands still"
	// EvenVoters: there is one voter more than the same tolerance needs.
	EvenVoters Code = "even number of voters"
	// MixedVersions: the members that answer run different versions.
	MixedVersions Code = "mixed versions"
	// CertificateEnds: the certificates that the others present are valid for less than
	// [certificateLeft].
	CertificateEnds Code = "certificate ends"
	// KnownDefects: the others run a version with defects that endanger data or processes,
	// see [DefectsOf].
	KnownDefects Code = "known defects"
	// KnownBypasses: the others run a version that lets clients pass etcd's permissions.
	KnownBypasses Code = "known bypasses"
)

// certificateLeft is how long before its end a certificate is to be renewed.
const certificateLeft = 30 * 24 * time.Hour

// endingCertificates returns the warning about certificates that end soon, from now on, if
// there are any. Detail is the first end.
func (s Snapshot) endingCertificates(now time.Time) (out []Warning) {
	end := func(id MemberID) time.Time { return s.Answer(id).CertificateEnd }
	ending := keep(IDs(s.Members), func(id MemberID) bool { return !end(id).IsZero() && end(id).Sub(now) < certificateLeft })
	if len(ending) == 0 {
		return nil
	}
	first := slices.MinFunc(ending, func(a, b MemberID) int { return end(a).Compare(end(b)) })
	return []Warning{{CertificateEnds, Facts{Others: ending, Detail: end(first).Format(time.RFC3339)}}}
}

// Healthy reports whether everything is observed to be in order: a confirmed
// list, one leader named by a quorum, every member alive, no endpoint of another
// cluster, no alarm. What cannot be observed counts as unhealthy.
func (s Snapshot) Healthy() bool {
	return s.Gate(0).Verdict == Go && len(s.tallyOf(s.Members, 0).missing()) == 0 && len(s.Alarms()) == 0
}

// FailureTolerance returns how many of the voters observed alive may fail before
// the cluster loses its quorum.
func (s Snapshot) FailureTolerance() int {
	return max(0, len(s.tallyOf(s.Voters(), 0)[alive])-s.Quorum())
}

// Lag returns how many raft entries a member that answers is behind the leader, and how
// many a learner may be when it is promoted: 1,000, or one per cent of the leader's index
// if that is more. (The server allows 10 per cent, which may be millions.) ok is false if
// a quorum names no leader, or if one of the two did not answer.
func (s Snapshot) Lag(id MemberID) (entries, limit uint64, ok bool) {
	leader, _, led := s.MajorityLeader()
	if !led || !s.answers(leader) || !s.answers(id) {
		return 0, 0, false
	}
	index := s.Answer(leader).Index
	return index - min(index, s.Answer(id).Applied), max(1000, index/100), true
}

// lags reports whether a member that answers is too far behind to be promoted.
func (s Snapshot) lags(id MemberID) bool {
	entries, limit, _ := s.Lag(id)
	return entries > limit
}

// Lagging returns the learners that answer and are too far behind to be promoted.
// Only another observation shows whether they catch up.
func (s Snapshot) Lagging() []MemberID { return keep(IDs(s.Learners()), s.lags) }

// Witness returns the member to ask for its connections to the others: the leader
// if it is alive, otherwise any voter that is alive, or 0 if there is none.
func (s Snapshot) Witness() MemberID {
	leader, _, led := s.MajorityLeader()
	if led && s.Alive(leader) {
		return leader
	}
	m, _ := find(s.Voters(), func(m Member) bool { return s.Alive(m.ID) })
	return m.ID
}

// Advise returns what the operator should know about a cluster for which no
// change is requested, the most urgent first. before is an earlier observation of
// the same cluster, or its zero value. seen holds the connections to the others
// of one member, preferably the leader; it is nil if they are not known. authenticated is
// true if the cluster is known to have authentication.
func (s Snapshot) Advise(before Snapshot, seen map[MemberID]bool, authenticated bool, now time.Time) (out []Warning) {
	say := func(c Code, f Facts) { out = append(out, Warning{c, f}) }

	d := s.Gate(0)
	ok := d.Verdict == Go
	if !ok {
		say(d.Code, d.Facts)
	}
	if id, left := s.Survivor(); left {
		say(SurvivorLeft, Facts{Subject: id})
	}
	all := s.tallyOf(s.Members, 0)
	// Without a quorum no member serves reads: an answer is enough to be healthy.
	unsaid := func(ids []MemberID) []MemberID {
		return keep(ids, func(id MemberID) bool { return !slices.Contains(d.Facts.Others, id) && (ok || !s.answers(id)) })
	}
	here := keep(all[down], func(id MemberID) bool { return seen[id] })
	silent := keep(all[down], func(id MemberID) bool { return !seen[id] })
	codes := []Code{MemberDown, SilentHere, MemberUnstarted, NotProbed}
	if len(silent) > 0 { // an unstarted member holds up the replacement of a lost one
		codes = []Code{MemberUnstarted, MemberDown, SilentHere, NotProbed}
	}
	are := map[Code][]MemberID{MemberDown: silent, SilentHere: here, MemberUnstarted: all[unstarted], NotProbed: all[unprobed]}
	for _, c := range codes {
		if others := unsaid(are[c]); len(others) > 0 {
			say(c, Facts{Others: others})
		}
	}
	for _, id := range s.Lagging() {
		was, now := before.Answer(id), s.Answer(id)
		if before.ClusterID == s.ClusterID && before.answers(id) && was.Applied == now.Applied {
			say(LearnerStands, Facts{Subject: id})
		}
	}
	out = slices.Concat(out, s.raised(), s.endingCertificates(now), s.standingAdvice(ok))
	if authenticated {
		out = append(out, s.knownDefects(KnownBypasses)...)
	}
	return append(out, s.knownDefects(KnownDefects)...)
}

// standingAdvice returns the advice on tolerance, number of voters and versions.
func (s Snapshot) standingAdvice(led bool) (out []Warning) {
	voters := s.Voters()
	f, _ := s.tallyOf(voters, 0).project(0, len(voters))
	if led && f.Alive == f.Quorum {
		out = append(out, Warning{ToleranceZero, f})
	}
	if f.Voters > 0 && f.Voters%2 == 0 {
		out = append(out, Warning{EvenVoters, f})
	}
	version := func(id MemberID) string { return s.Answer(id).Version }
	answering := keep(IDs(s.Members), func(id MemberID) bool { return s.answers(id) && version(id) != "" })
	if slices.ContainsFunc(answering, func(id MemberID) bool { return version(id) != version(answering[0]) }) {
		out = append(out, Warning{MixedVersions, Facts{Others: answering}})
	}
	return append(out, s.badReleases(0)...)
}
