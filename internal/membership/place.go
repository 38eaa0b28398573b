// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import "slices"

// DecidePlace decides, after [DecideRemove], whether a voter may be removed to be
// replaced although learners stay: its successor joins as a learner, and once the voter
// is gone it is too late to learn that the servers accept no more.
//
// Servers before 3.5 accept one learner. Of later ones only they themselves know the
// limit (--max-learners, 1 by default): the verdict is [Wait] until they were asked beside
// the learners in accepted. A learner, alive or not, holds a place. A dead voter may be
// removed at any time, and a learner frees a place for its own successor.
func DecidePlace(s Snapshot, r RemoveRequest, accepted []MemberID) Decision {
	m, _ := s.Member(r.ID)
	f := Facts{Subject: r.ID, Others: keep(IDs(s.Learners()), func(id MemberID) bool { return !slices.Contains(r.Leaving, id) })}
	fixed, _ := s.tooOld(hasFixedLimit)
	switch {
	case !r.Replacement, m.Learner, s.provenDead(m), len(f.Others) == 0:
		return Decision{Verdict: Go}
	case len(fixed) > 0:
		return refuse(LearnerSlotTaken, f)
	case !slices.Equal(f.Others, accepted):
		return wait(LearnerSlotTaken, f)
	}
	return Decision{Verdict: Go}
}

// hasFixedLimit reports whether servers of that version accept one learner, whatever
// their flags. A version that cannot be parsed counts as one with a flag.
func hasFixedLimit(version string) bool { return isBefore(version, 5, 0) }
