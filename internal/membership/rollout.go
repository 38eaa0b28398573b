// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"cmp"
	"slices"
)

// RolloutReason says why a rollout lets no name, or only one, through.
type RolloutReason uint8

const (
	// RolloutDone: every name has its desired value.
	RolloutDone RolloutReason = iota
	// RolloutNext: one name goes through, the others wait for it.
	RolloutNext
	// RolloutNamesChange: the same plan adds or removes names.
	RolloutNamesChange
	// RolloutUnhealthy: not every member is healthy.
	RolloutUnhealthy
)

// Rollout is what a plan lets through.
type Rollout struct {
	// Effective is what each name has after the apply.
	Effective map[string]string
	// Advanced is the name that goes through, or empty.
	Advanced string
	// Pending are the names that do not have their desired value yet, sorted.
	Pending []string
	Reason  RolloutReason
}

// PlanRollout decides what a plan lets through: of the names whose value differs
// from the desired value, the first in order. It lets no name through while a
// member is unhealthy, or while the same plan adds or removes names. A new name
// gets its desired value at once, a removed name is dropped.
//
// unhealthy is the name that is unhealthy, if there is exactly one. That name may
// go through, because the others already hold the quorum without it. Otherwise an
// image that does not boot could not be corrected.
//
// The result depends only on the arguments, so that it is the same when the plan
// is applied, in another process and at another time.
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

// RolloutTakes returns which of the names that enter a rollout, new or existing, belong
// to members already, sorted. The rollout does not know the values of these members,
// and would pass the desired values on to all of them at once. If names is nil because
// they are not known, it returns the names of all members.
//
// It does not check whether the members are alive: a member that is down has a machine.
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

// UnhealthyMember is a name that blocks a rollout.
type UnhealthyMember struct {
	// Name is the member's name. Member is zero if no member in the list has that
	// name.
	Name   string
	Member MemberID
}

// UnhealthyMembers returns what blocks a rollout over the given names, sorted by
// name: names without a started and living member, names whose turn is open
// ([Snapshot.OpenTurns]), because a living successor has no vote yet, and any
// other member of the cluster that is not alive. All of them must be healthy,
// because the next step removes one more member.
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

// OnlyUnhealthy returns the only name among the unhealthy members, or "" if there
// is none or more than one. A learner that was added and has never started has no
// name yet. One such learner counts as the member of the only name. If it belongs
// to another name, nothing is lost: it has no vote.
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
