// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"errors"
	"slices"
	"strings"
)

// DecideAdd decides whether a member may be added now, as a learner. It checks in
// this order, so that a caller never waits for what time does not cure:
//
//  1. The request itself: peer URLs that no cluster can use (a garbage URL panics
//     the other members).
//  2. What every change needs: one cluster, quorum, leader, confirmed list.
//  3. What time does not cure: a version without learners, a URL or name that is
//     taken, a loopback URL among reachable ones, an alarm.
//  4. Voters that are not alive. The change is refused if the server of that
//     version refuses it, or if the projected membership, with the new member
//     counted as a failed voter, has no quorum. Otherwise there is a warning.
//  5. The learner slot, the only condition of these that is worth waiting for.
//
// A cluster of one is exempt from the projection, as in the server: there is no
// other way from one member to two, and the learner has no vote until
// [DecidePromote] has seen it alive.
func DecideAdd(s Snapshot, r AddRequest) Decision {
	if d, ok := usableURLs(r.PeerURLs); !ok {
		return d
	}
	if d := s.Gate(0); d.Verdict != Go {
		return d
	}
	if ids, v := s.tooOld(func(v string) bool { return !hasLearners(v) }); len(ids) > 0 {
		return refuse(VersionTooOld, Facts{Others: ids, Detail: v})
	}
	if d, ok := s.freeIdentity(r); !ok {
		return d
	}
	if f, raised := s.Alarm(); raised {
		return refuse(AlarmRaised, f)
	}

	voters := s.Voters()
	t := s.tallyOf(voters, 0)
	f, quorum := t.project(0, len(voters)+1)
	if len(voters) == 1 {
		quorum = won
	}
	strict, _ := s.tooOld(wantsEveryVoter)
	switch {
	case quorum == pending && (len(t.gone()) == 0 || len(strict) == 0):
		f.Others = t.unprobed
		return refuse(NotProbed, f)
	case quorum != won, len(strict) > 0 && len(t.gone()) > 0:
		f.Others = t.gone()
		return refuse(t.goneCode(), f)
	}

	if learners := s.Learners(); len(learners) > 0 && !r.AskServer {
		return wait(LearnerSlotTaken, Facts{Others: IDs(learners)})
	}
	return Decision{Verdict: Go, Warnings: s.joinWarnings(0, t, f)}
}

// joinWarnings returns the warnings for a change that adds one voter. f is the
// projection with the new member counted as failed. The tolerance is mentioned
// only if a voter is missing already: for three healthy voters that become four it
// would be every time, and the new member gets its vote only while it is alive.
func (s Snapshot) joinWarnings(subject MemberID, t tally, f Facts) []Warning {
	var out []Warning
	f.Subject = subject
	if gone := t.gone(); len(gone) > 0 {
		w := f
		w.Others = gone
		out = append(out, Warning{t.goneCode(), w})
	}
	if len(t.unprobed) > 0 {
		w := f
		w.Others = t.unprobed
		out = append(out, Warning{NotProbed, w})
	}
	if missing := t.missing(); len(missing) > 0 && f.Alive == f.Quorum {
		w := f
		w.Others = missing
		out = append(out, Warning{ToleranceZero, w})
	}
	return append(out, s.badReleases(subject)...)
}

// usableURLs refuses peer URLs that no cluster can use.
func usableURLs(urls []string) (Decision, bool) {
	if len(urls) == 0 {
		return refuse(BadURL, Facts{Problem: URLEmpty}), false
	}
	for _, raw := range urls {
		_, err := NormalizeURL(raw)
		bad, refused := errors.AsType[*URLError](err)
		switch {
		case refused && bad.Problem == URLWildcard:
			return refuse(LoopbackURL, Facts{Detail: bad.URL}), false
		case refused:
			return refuse(BadURL, Facts{Detail: bad.URL, Problem: bad.Problem}), false
		}
	}
	return Decision{}, true
}

// freeIdentity refuses a peer URL or a name that another member has, and a
// loopback URL in a cluster that has a member elsewhere.
func (s Snapshot) freeIdentity(r AddRequest) (Decision, bool) {
	var sameURL, sameName []MemberID
	var taken string
	var elsewhere []MemberID
	for _, m := range s.Members {
		if r.Name != "" && m.Name == r.Name {
			sameName = append(sameName, m.ID)
		}
		for _, have := range m.PeerURLs {
			if !IsLoopback(have) {
				elsewhere = append(elsewhere, m.ID)
			}
			for _, want := range r.PeerURLs {
				if SameURLs([]string{have}, []string{want}) {
					sameURL, taken = append(sameURL, m.ID), want
				}
			}
		}
	}
	if len(sameURL) > 0 {
		return refuse(URLTaken, Facts{Others: union(sameURL), Detail: taken}), false
	}
	if len(sameName) > 0 {
		return refuse(NameTaken, Facts{Others: union(sameName), Detail: r.Name}), false
	}
	if i := slices.IndexFunc(r.PeerURLs, IsLoopback); i >= 0 && len(elsewhere) > 0 {
		return refuse(LoopbackURL, Facts{Others: union(elsewhere), Detail: strings.TrimSpace(r.PeerURLs[i])}), false
	}
	return Decision{}, true
}
