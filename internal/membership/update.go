// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

// DecideUpdate decides whether a member may get other peer URLs now: those of r, which has
// the name that state has for the member. An empty name is not compared. The operator
// restarts its process with the URLs. The server checks nothing at all. The order is that
// of the other changes:
//
//  1. URLs that no cluster can use (a garbage URL panics the other members at every
//     restart).
//  2. What every change needs: one cluster, quorum, leader, confirmed list.
//  3. The member is gone: refused, because there is no member to update. The URLs
//     are in place already: done. The name is another member's: refused.
//  4. What time does not cure: a URL that is taken, a loopback URL among reachable
//     ones, and a learner on releases that treat it as a voter afterwards
//     (etcd-io/etcd#21694, #21736, #21737).
//  5. No other change of peer URLs is pending ([URLChange]).
//  6. The member counts as failed, because the others cannot reach it at its new
//     URLs until it is restarted: the rest must be a quorum by itself. A cluster of
//     one is exempt, because it has no peers. Two healthy voters get a warning only.
//     A pending change can always be undone.
//  7. Leadership moves away first: a leader that the others cannot reach is an
//     outage until they elect another. See [Snapshot.handOver].
func DecideUpdate(s Snapshot, r Member) Decision {
	m, listed := s.Member(r.ID)
	d := firstOf(usableURLs(r.PeerURLs), s.Gate(r.ID))
	switch {
	case d.Verdict != Go:
		return d.about(r.ID)
	case !listed:
		return refuse(NotMember, Facts{Subject: r.ID})
	case SameURLs(m.PeerURLs, r.PeerURLs):
		return Decision{Verdict: Done}
	}
	others := s
	others.Members = keep(s.Members, func(o Member) bool { return o.ID != r.ID })
	d = firstOf(ours(m, RemoveRequest{ID: r.ID, Name: r.Name}), others.freeIdentity(AddRequest{PeerURLs: r.PeerURLs}),
		s.newEnough(r.ID, func(version string) bool { return m.Learner && forgetsLearner(version) }), s.oneAtATime(r.ID, r.PeerURLs))
	if d.Verdict != Go {
		return d.about(r.ID)
	}
	voters := s.Voters()
	if m.Learner || len(voters) == 1 {
		return Decision{Verdict: Go}
	}
	rest := s.tallyOf(voters, r.ID)
	f, quorum := rest.project(r.ID, len(voters))
	f.Others = rest.missing()
	out := Decision{Verdict: Go}
	switch needed := quorum != won && !s.goesBack(r.ID, r.PeerURLs); {
	case needed && len(voters) == 2 && len(f.Others) == 0:
		// Two voters need both: in every order of restarts there is a moment in
		// which the member with the new URLs is away.
		out.Warnings = []Warning{{ToleranceZero, f}}
	case needed && quorum == pending:
		return refuse(NotProbed, f.of(rest[unprobed]))
	case needed:
		return refuse(BelowQuorum, f)
	}
	return s.handOver(out, r.ID, rest[alive], nil)
}

// forgetsLearner reports whether an update of a learner's peer URLs clears its
// learner flag in the member list while raft still treats it as a learner: all of
// 3.4, up to 3.5.30, and up to 3.6.11. A version that cannot be parsed counts as
// affected.
func forgetsLearner(version string) bool { return lacksFix(version, 31, 12) }
