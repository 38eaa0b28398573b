// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import "strings"

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
	if d := firstOf(usableURLs(r.PeerURLs), s.Gate(0), s.newEnough(0, lacksLearners), s.freeIdentity(r), s.Writable(0)); d.Verdict != Go {
		return d
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
		return refuse(NotProbed, f.of(t[unprobed]))
	case quorum != won, len(strict) > 0 && len(t.gone()) > 0:
		return refuse(t.goneCode(), f.of(t.gone()))
	}

	if learners := s.Learners(); len(learners) > 0 && !r.AskServer {
		return wait(LearnerSlotTaken, Facts{Others: IDs(learners)})
	}
	return Decision{Verdict: Go, Warnings: s.joinWarnings(t, f)}
}

// joinWarnings returns the warnings for a change that adds one voter. f is the
// projection with the new member counted as failed. The tolerance is mentioned
// only if a voter is missing already: for three healthy voters that become four it
// would be every time, and the new member gets its vote only while it is alive.
func (s Snapshot) joinWarnings(t tally, f Facts) (out []Warning) {
	say := func(c Code, others []MemberID) {
		if len(others) > 0 {
			out = append(out, Warning{c, f.of(others)})
		}
	}
	say(t.goneCode(), t.gone())
	say(NotProbed, t[unprobed])
	if f.Alive == f.Quorum {
		say(ToleranceZero, t.missing())
	}
	return append(out, s.badReleases(f.Subject)...)
}

// usableURLs refuses peer URLs that no cluster can use.
func usableURLs(urls []string) Decision {
	switch _, bad := spelled(urls); {
	case bad == nil:
		return Decision{Verdict: Go}
	case bad.Problem == URLWildcard:
		return refuse(LoopbackURL, Facts{Detail: bad.URL})
	default:
		return refuse(BadURL, Facts{Detail: bad.URL, Problem: bad.Problem})
	}
}

// freeIdentity refuses a peer URL or a name that another member has, and a
// loopback URL in a cluster that has a member elsewhere.
func (s Snapshot) freeIdentity(r AddRequest) Decision {
	for _, url := range r.PeerURLs {
		if same := keep(s.Members, func(m Member) bool { return shareURL(m.PeerURLs, []string{url}) }); len(same) > 0 {
			return refuse(URLTaken, Facts{Others: IDs(same), Detail: url})
		}
	}
	named := keep(s.Members, func(m Member) bool { return r.Name != "" && m.Name == r.Name })
	elsewhere := keep(s.Members, func(m Member) bool { return len(keep(m.PeerURLs, IsLoopback)) < len(m.PeerURLs) })
	loopback, local := find(r.PeerURLs, IsLoopback)
	switch {
	case len(named) > 0:
		return refuse(NameTaken, Facts{Others: IDs(named), Detail: r.Name})
	case local && len(elsewhere) > 0:
		return refuse(LoopbackURL, Facts{Others: IDs(elsewhere), Detail: strings.TrimSpace(loopback)})
	}
	return Decision{Verdict: Go}
}
