// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"cmp"
	"slices"
)

// RolloutReason says why a rollout lets nobody, or only one, through.
type RolloutReason uint8

const (
	// RolloutDone: everybody has what is desired for him.
	RolloutDone RolloutReason = iota
	// RolloutNext: one name goes through, others wait for it.
	RolloutNext
	// RolloutNamesChange: names come or go in the same plan.
	RolloutNamesChange
	// RolloutUnhealthy: not every member is healthy.
	RolloutUnhealthy
)

// Rollout is what a plan lets through.
type Rollout struct {
	// Effective is what each name has after the apply.
	Effective map[string]string
	// Advanced is the name that goes through, if one does.
	Advanced string
	// Pending are the names that still have something else than desired,
	// sorted.
	Pending []string
	Reason  RolloutReason
}

// PlanRollout decides what a plan lets through: of the names whose desired
// value differs from what they have, the first in order, and nobody while a
// member is unhealthy or while names come or go in the same plan. New names enter
// with what is desired for them, names that are gone leave.
//
// unhealthy is the only name that is not well, if it is one alone: that one may go
// through, because the others hold the quorum without it as it is. An image
// that does not boot could not be corrected otherwise.
//
// It depends on its arguments alone, so that it comes to the same when the
// plan is applied, in another process and at another time.
func PlanRollout(effective, desired map[string]string, healthy bool, unhealthy string) Rollout {
	r := Rollout{Effective: map[string]string{}}
	come, leave := false, false
	for name, want := range desired {
		have, known := effective[name]
		switch {
		case !known:
			r.Effective[name], come = want, true
		case have != want:
			r.Effective[name] = have
			r.Pending = append(r.Pending, name)
		default:
			r.Effective[name] = have
		}
	}
	for name := range effective {
		if _, stays := desired[name]; !stays {
			leave = true
		}
	}
	slices.Sort(r.Pending)
	switch {
	case len(r.Pending) == 0:
		r.Reason = RolloutDone
	case come || leave:
		r.Reason = RolloutNamesChange
	case healthy:
		r.advance(r.Pending[0], desired)
	case slices.Contains(r.Pending, unhealthy):
		r.advance(unhealthy, desired)
	default:
		r.Reason = RolloutUnhealthy
	}
	return r
}

func (r *Rollout) advance(name string, desired map[string]string) {
	r.Reason, r.Advanced = RolloutNext, name
	r.Pending = slices.DeleteFunc(r.Pending, func(s string) bool { return s == name })
	r.Effective[name] = desired[name]
}

// RolloutTakes returns which of the names that enter a rollout, a new one or one
// that exists, belong to members already, sorted. The rollout does not know what
// these have, and would pass what is desired on to all of them at once. names is
// nil if they are not known; then those are the names of all members.
//
// Whether the members live is another question: one that is down has a machine.
func RolloutTakes(s Snapshot, names []string) []string {
	var out []string
	for _, m := range s.Members {
		if m.Name != "" && (names == nil || slices.Contains(names, m.Name)) {
			out = append(out, m.Name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// UnhealthyMember is a name that keeps a rollout from going on.
type UnhealthyMember struct {
	// Name is the member's; Member is zero if no member of that name is in the
	// list.
	Name   string
	Member MemberID
}

// UnhealthyMembers returns what keeps a rollout over the given names from going
// on, sorted by name: names without a started and living member, names whose
// turn is open ([Snapshot.OpenTurns]), because a successor that lives has no
// vote yet, and any other member of the cluster that is not alive. Every one of
// them must be well, because the next step takes one more away.
func UnhealthyMembers(s Snapshot, names []string, open []Turn) []UnhealthyMember {
	var out []UnhealthyMember
	wanted := slices.Clone(names)
	for _, t := range open {
		wanted = append(wanted, t.Name)
	}
	for _, m := range s.Members {
		if !m.Started() || !s.Alive(m.ID) || slices.ContainsFunc(open, func(t Turn) bool { return t.Name == m.Name }) {
			out = append(out, UnhealthyMember{m.Name, m.ID})
		}
	}
	for _, name := range wanted {
		if _, listed := s.first(func(m Member) bool { return m.Name == name }); !listed {
			out = append(out, UnhealthyMember{Name: name})
		}
	}
	slices.SortFunc(out, func(a, b UnhealthyMember) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Member, b.Member))
	})
	return slices.Compact(out)
}

// OnlyUnhealthy returns the name that all unhealthy come down to, "" if there is
// none or more than one. An announced learner that has never started has no
// name yet; beside one name that is not in the cluster it is taken for that
// one's. If it is somebody else's, nothing is lost: it has no vote.
func OnlyUnhealthy(s Snapshot, unhealthy []UnhealthyMember) string {
	name, nameless := "", 0
	for _, o := range unhealthy {
		m, _ := s.Member(o.Member)
		switch {
		case o.Name == "" && m.Learner:
			nameless++
		case o.Name == "" || name != "":
			return ""
		default:
			name = o.Name
		}
	}
	if nameless > 1 {
		return ""
	}
	return name
}
