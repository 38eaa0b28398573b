// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"slices"
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// raisedAlarm says which members raised which alarm, and what it means.
func raisedAlarm(f membership.Facts, s membership.Snapshot) string {
	means := map[string]string{
		membership.AlarmNoSpace: ": a database has reached its quota",
		membership.AlarmCorrupt: ": the data of " + shorts(s, f.Others) + " differs from the data of the other members",
	}[f.Detail]
	return sprintf("%s raised the alarm %s%s.", capital(members(s, f.Others)), f.Detail, means)
}

// alarmWayOut says what to do about an alarm. last is the final step, or "".
func alarmWayOut(kind, last string) string {
	first := "First remove its cause."
	switch kind {
	case membership.AlarmNoSpace:
		first = "First make space: compact (etcdctl compaction REVISION), then defragment every member (the action etcd_defragment); or start the members with a larger --quota-backend-bytes."
	case membership.AlarmCorrupt:
		first = "First find out whose data differs from the others' (etcdctl endpoint hashkv --cluster), and replace or remove that member."
	}
	return first + " Then disarm" + disarm(last)
}

// disarm returns the end of a sentence that begins with "Disarm", with the command.
func disarm(last string) string {
	if last == "" {
		return " the alarm (etcdctl alarm disarm)."
	}
	return sprintf(" the alarm and %s:\n\n  etcdctl alarm disarm", last)
}

// disarm says what to do about the alarm that was found.
func (c finding) disarm() string {
	last := strings.TrimPrefix(c.again, ", then ")
	listed := slices.ContainsFunc(c.f.Others, func(id membership.MemberID) bool { _, ok := c.s.Member(id); return ok })
	switch corrupt := c.f.Detail == membership.AlarmCorrupt; {
	case corrupt && !c.held && slices.Equal(c.f.Others, []membership.MemberID{c.f.Subject}): // it is being removed
		return "Disarm" + disarm(last)
	case corrupt && c.held && !listed: // its removal does not disarm the alarm
		return "The corrupt member is no longer in the cluster. Disarm" + disarm(last)
	default:
		return alarmWayOut(c.f.Detail, last)
	}
}
