// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"slices"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// raisedAlarm says which members raised which alarm, and what it means.
func raisedAlarm(f membership.Facts, s membership.Snapshot) string {
	raised := sprintf("%s raised the alarm %s", capital(members(s, f.Others)), f.Detail)
	switch f.Detail {
	case membership.AlarmNoSpace:
		return raised + ": a database has reached its quota."
	case membership.AlarmCorrupt:
		return sprintf("%s: the data of %s differs from the data of the other members.", raised, shorts(s, f.Others))
	default:
		return raised + "."
	}
}

// alarmFirst says what to do before an alarm is disarmed.
func alarmFirst(kind string) string {
	switch kind {
	case membership.AlarmNoSpace:
		return "First make space: compact (etcdctl compaction REVISION), then defragment every member (the action etcd_defragment); or start the members with a larger --quota-backend-bytes."
	case membership.AlarmCorrupt:
		return "First find out whose data differs from the others' (etcdctl endpoint hashkv --cluster), and replace or remove that member."
	default:
		return "First remove its cause."
	}
}

// alarmWayOut says what to do about an alarm. last is the final step, or "".
func alarmWayOut(kind, last string) string {
	return alarmFirst(kind) + " Then disarm" + disarm(last)
}

// disarm returns the end of a sentence that begins with "Disarm", with the command.
func disarm(last string) string {
	if last == "" {
		return " the alarm (etcdctl alarm disarm)."
	}
	return sprintf(" the alarm and %s:\n\n  etcdctl alarm disarm", last)
}

// alarmRaised describes a change refused because of an alarm, or only the alarm.
func (c finding) alarmRaised() string {
	if c.held == "" {
		return raisedAlarm(c.f, c.s) + " " + alarmWayOut(c.f.Detail, "")
	}
	why := ", so a new member could not be recorded."
	switch c.action {
	case reconfigure.ActionUpdate:
		why = ", so this change could not be guarded against other Terraform runs."
	case reconfigure.ActionRemove, reconfigure.ActionReplace:
		why = ": a member that lives is not replaced now, because its successor could not be added."
	}
	listed := slices.ContainsFunc(c.f.Others, func(id membership.MemberID) bool { _, ok := c.s.Member(id); return ok })
	next := alarmWayOut(c.f.Detail, "apply again")
	if c.f.Detail == membership.AlarmCorrupt && !listed { // the removal of the member does not disarm the alarm
		next = "The corrupt member is no longer in the cluster. Disarm" + disarm("apply again")
	}
	return raisedAlarm(c.f, c.s) + " Nothing can be written until the alarm is disarmed" + why + c.held + " " + next
}

// underAlarm returns the warning for a removal under an alarm.
func underAlarm(doing string, f membership.Facts, s membership.Snapshot) Message {
	next := alarmWayOut(f.Detail, "apply again")
	if f.Detail == membership.AlarmCorrupt && slices.Equal(f.Others, []membership.MemberID{f.Subject}) {
		next = "Disarm" + disarm("apply again") // the corrupt member itself is removed
	}
	return Message{
		doing + " under the alarm " + f.Detail,
		raisedAlarm(f, s) + " Nothing can be written until the alarm is disarmed, so this change is not guarded against other Terraform runs at the same time. " +
			next,
	}
}
