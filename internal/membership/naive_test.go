// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

// This file states the rules again, as simply as possible, over the real states
// of the members. It uses nothing of the code under test but the names of
// verdicts and codes.

// verdict is the outcome by the naive rules.
type verdict struct {
	v        Verdict
	code     Code
	others   []int // members in the way
	warnings []Code
	move     int // the member that leads next, or -1
}

func says(v Verdict, code Code, others ...int) verdict {
	return verdict{v: v, code: code, others: others, move: -1}
}

func (w world) voter(i int) bool { return w.members[i] < lAlive }

// lives: proven to work now. No other member counts.
func (w world) lives(i int) bool {
	switch w.members[i] {
	case vAlive, vBehind, vStale, vPending, lAlive, lLagging, lStale, lCallsVoter:
		return true
	}
	return false
}

// bears: works now, and goes on working after its next restart, as far as is known.
func (w world) bears(i int) bool { return w.lives(i) && !w.pending(i) }

// pending: nothing is pending for the only voter, which no other voter has to find.
func (w world) pending(i int) bool { return w.members[i] == vPending && len(w.which(w.voter)) > 1 }

// unknown: nothing is known about the member, good or bad.
func (w world) unknown(i int) bool {
	switch w.members[i] {
	case vUnprobed, vForeign, lUnprobed, lForeign:
		return true
	}
	return false
}

func (w world) heard(i int) bool { return w.lives(i) || w.members[i] == vNoRead }
func (w world) fresh(i int) bool { return w.members[i] == vUnstarted || w.members[i] == lUnstarted }
func (w world) wrong(i int) bool { return w.members[i] == vWrong || w.members[i] == lWrong }

// dead: known not to work, although the member has started.
func (w world) dead(i int) bool { return !w.lives(i) && !w.unknown(i) && !w.fresh(i) }

// proven: certainly serves no client.
func (w world) proven(i int) bool { return w.fresh(i) || w.dead(i) && w.members[i] != vNoRead }

func (w world) which(is ...func(int) bool) (out []int) {
	for i := range w.members {
		all := true
		for _, f := range is {
			all = all && f(i)
		}
		if all {
			out = append(out, i)
		}
	}
	return out
}

func not(f func(int) bool) func(int) bool { return func(i int) bool { return !f(i) } }
func but(j int) func(int) bool            { return func(i int) bool { return i != j } }
func among(set []int) func(int) bool {
	return func(i int) bool {
		for _, j := range set {
			if i == j {
				return true
			}
		}
		return false
	}
}

// most reports whether x is more than half of n.
func most(x, n int) bool { return 2*x > n }

// agreed returns the leader and term that most voters name.
func (w world) agreed() (leader, term int, ok bool) {
	voters := w.which(w.voter)
	for _, i := range w.which(w.voter, w.heard) {
		leader, term := w.view(i)
		if leader < 0 || !w.voter(leader) {
			continue
		}
		same := 0
		for _, j := range w.which(w.voter, w.heard) {
			if l, t := w.view(j); l == leader && t == term {
				same++
			}
		}
		if most(same, len(voters)) {
			return leader, term, true
		}
	}
	return 0, 0, false
}

// naiveGate returns false and the reason if no change can be made at all.
func (w world) naiveGate() (verdict, bool) {
	n := len(w.which(w.voter))
	heard := len(w.which(w.voter, w.heard))
	living := len(w.which(w.voter, w.lives))
	unknown := w.which(w.voter, w.unknown)
	if !most(heard, n) {
		if !w.moved || living > 0 { // a linearizable request was served, so there is a quorum
			return says(Refuse, NotProbed, w.which(w.voter, not(w.heard))...), false
		}
		if n == 0 || most(heard+len(unknown), n) {
			return says(Refuse, NotProbed, unknown...), false
		}
		return says(Refuse, QuorumLost, w.which(w.voter, not(w.heard))...), false
	}
	if _, _, ok := w.agreed(); !ok || !most(living, n) {
		return says(Wait, NoLeader), false
	}
	if w.moved {
		return says(Wait, ListMoved), false
	}
	return verdict{}, true
}

// blocked returns the members that keep a cluster from growing by one voter, if that
// voter failed at once; v is the verdict about members that are known to be gone.
func (w world) blocked(v Verdict, strict bool) (verdict, bool) {
	n := len(w.which(w.voter))
	living := len(w.which(w.voter, w.bears))
	unknown := w.which(w.voter, w.unknown)
	gone := w.which(w.voter, not(w.bears), not(w.unknown))
	code := URLsPending
	if len(w.which(w.voter, w.fresh)) > 0 {
		code = MemberUnstarted
	}
	if len(w.which(w.voter, w.dead)) > 0 {
		code = MemberDown
	}
	tooFew := n > 1 && !most(living, n+1)
	if strict && len(gone) > 0 {
		return says(v, code, gone...), true
	}
	if tooFew && most(living+len(unknown), n+1) {
		return says(Refuse, NotProbed, unknown...), true
	}
	if tooFew {
		return says(v, code, gone...), true
	}
	out := says(Go, "")
	if len(gone) > 0 {
		out.warnings = append(out.warnings, code)
	}
	if len(unknown) > 0 {
		out.warnings = append(out.warnings, NotProbed)
	}
	if living < n && !most(living-1, n+1) {
		out.warnings = append(out.warnings, ToleranceZero)
	}
	return out, false
}

func (w world) naiveAdd(askServer bool) verdict {
	if v, ok := w.naiveGate(); !ok {
		return v
	}
	v, blocked := w.blocked(Refuse, w.strict)
	if blocked {
		return v
	}
	if learners := w.which(not(w.voter)); !askServer && len(learners) > 0 {
		return says(Wait, LearnerSlotTaken, learners...)
	}
	return v
}

func (w world) naivePromote(subject int, seenBefore bool) verdict {
	if v, ok := w.naiveGate(); !ok {
		return v
	}
	if subject == len(w.members) {
		return says(Refuse, NotMember)
	}
	if w.wrong(subject) {
		return says(Refuse, MixedClusters, subject)
	}
	if w.fresh(subject) {
		return says(Wait, NotStarted)
	}
	if w.unknown(subject) {
		return says(Wait, NotProbed, subject)
	}
	if w.dead(subject) || w.members[subject] == lCallsVoter {
		return says(Wait, NotAlive)
	}
	if w.voter(subject) {
		return says(Done, "")
	}
	leader, term, _ := w.agreed()
	if !w.lives(leader) {
		return says(Wait, NoLeader, leader)
	}
	if l, t := w.view(subject); l != leader || t != term {
		return says(Wait, OtherLeader, leader)
	}
	v, blocked := w.blocked(Wait, false)
	if blocked {
		return v
	}
	if w.members[subject] == lLagging {
		return says(Wait, Lagging)
	}
	if !seenBefore {
		return says(Wait, Unconfirmed)
	}
	return v
}

// held reports whether the turn keeps other members from being replaced.
func (w world) held(t Turn) bool {
	living := w.which(w.voter, w.lives)
	for _, i := range living {
		if nameOf(i) == t.Name {
			return false
		}
	}
	return len(living) < t.Voters
}

func (w world) naiveReplace(subject int, turns []Turn) verdict {
	_, open := w.naiveGate()
	if open && subject < len(w.members) && w.voter(subject) {
		dead := w.proven(subject)
		for _, t := range turns {
			if !dead && t.Name != nameOf(subject) && w.held(t) {
				return says(Refuse, TurnOfAnother)
			}
		}
	}
	return w.naiveRemove(subject, true, nil)
}

func nameOf(i int) string { return "m" + MemberID(i+1).String() }

// needed reports whether a replacement needs the member to be active.
func (w world) needed(i int) bool { return w.voter(i) || w.fresh(i) }

func (w world) naiveRemove(subject int, replacement bool, leaving []int) verdict {
	if v, ok := w.naiveGate(); !ok {
		return v
	}
	if subject == len(w.members) {
		return says(Done, "")
	}
	bears := w.bears
	if w.proven(subject) {
		bears = w.lives // what a dead member leaves behind is no worse without it
	}
	if idle := w.which(but(subject), not(bears), w.needed); replacement && !w.proven(subject) && len(idle) > 0 {
		switch {
		case len(w.which(among(idle), not(among(leaving)))) == 0:
			return says(Wait, OthersNotActive, idle...)
		case len(w.which(among(idle), not(w.unknown))) == 0:
			return says(Refuse, NotProbed, idle...)
		default:
			return says(Refuse, OthersNotActive, idle...)
		}
	}
	if !w.voter(subject) {
		return says(Go, "")
	}
	rest := w.which(w.voter, but(subject))
	if len(rest) == 0 {
		learners := w.which(not(w.voter))
		if going := w.which(among(learners), among(leaving)); len(going) > 0 && !replacement {
			return says(Wait, LastVoter, going...)
		}
		return says(Refuse, LastVoter, learners...)
	}
	living := w.which(among(rest), bears)
	if !most(len(living), len(rest)) {
		idle := w.which(among(rest), not(bears))
		going := w.which(among(idle), among(leaving))
		unknown := w.which(among(idle), w.unknown)
		switch {
		case most(len(living), len(rest)-len(going)):
			return says(Wait, BelowQuorum, going...)
		case most(len(living)+len(unknown), len(rest)):
			return says(Refuse, NotProbed, unknown...)
		default:
			return says(Refuse, BelowQuorum, idle...)
		}
	}
	out := says(Go, "")
	if leader, _, _ := w.agreed(); leader == subject {
		if !w.heard(leader) {
			return says(Refuse, NotProbed, leader)
		}
		out.move = w.next(living, leaving)
	}
	all := w.which(w.voter)
	couldLose := most(len(w.which(w.voter, bears))-1, len(all))
	if couldLose && !most(len(living)-1, len(rest)) && len(w.which(among(living), not(among(leaving)))) > 0 {
		out.warnings = append(out.warnings, ToleranceZero)
	}
	return out
}

// naiveUpdate: the others cannot reach the member until its process is restarted,
// so they must be a quorum without it. If there are no others, or if the member
// has no vote, the update is safe. Of two voters both are needed, which no order
// avoids. A leader hands over first, so that the others need not elect another; a
// leader that cannot be asked to do so is left alone. One change at a time is pending, and
// the way back from it is open.
func (w world) naiveUpdate(subject int, back bool) verdict {
	if v, ok := w.naiveGate(); !ok {
		return v
	}
	if subject == len(w.members) {
		return says(Refuse, NotMember)
	}
	n := len(w.which(w.voter))
	rest := w.which(w.voter, but(subject))
	living := w.which(among(rest), w.bears)
	if others := w.which(w.pending, but(subject)); len(others) > 0 && !back {
		return says(Refuse, URLsPending, others...)
	}
	unknown := w.which(among(rest), w.unknown)
	switch {
	case !w.voter(subject), n == 1:
		return says(Go, "")
	case back, most(len(living), n), n == 2 && len(living) == 1:
		v := says(Go, "")
		if n == 2 && !back {
			v.warnings = []Code{ToleranceZero}
		}
		if leader, _, _ := w.agreed(); leader == subject {
			if !w.heard(leader) {
				return says(Refuse, NotProbed, leader)
			}
			v.move = w.next(living, nil)
		}
		return v
	case most(len(living)+len(unknown), n):
		return says(Refuse, NotProbed, unknown...)
	default:
		return says(Refuse, BelowQuorum, w.which(among(rest), not(w.bears))...)
	}
}

// next returns the member that leads after the subject: a member that stays before
// a member in leaving, a long log before a short log, the first before the second.
func (w world) next(living, leaving []int) int {
	for _, goes := range []bool{false, true} {
		for _, behind := range []bool{false, true} {
			for _, i := range living {
				if among(leaving)(i) == goes && (w.members[i] == vBehind) == behind {
					return i
				}
			}
		}
	}
	return -1
}
