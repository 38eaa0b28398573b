// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package diag

import (
	"slices"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// raisedAlarm says who raised which alarm, and what it means.
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

// alarmWayOut is what to do about an alarm; last is the end of it.
func alarmWayOut(kind, last string) string {
	first := "Compact and defragment first."
	if kind == membership.AlarmCorrupt {
		first = "Replace or remove the corrupt member first."
	}
	return first + " Then disarm" + disarm(last)
}

// disarm is the end of a sentence that begins with "Disarm", with the command.
func disarm(last string) string {
	return sprintf(" the alarm (the action etcd_disarm_alarm does the same) and %s:\n\n  etcdctl alarm disarm", last)
}

// alarmRaised words the refusal of a change under an alarm.
func (c refusal) alarmRaised() string {
	why := "Nothing can be written until the alarm is disarmed, so a new member could not be recorded."
	switch c.action {
	case "update":
		why = "Nothing can be written until the alarm is disarmed, so this change could not be guarded against other Terraform runs."
	case "remove", "replace":
		why = "Nothing can be written until the alarm is disarmed: a member that lives is not replaced now, because its successor could not be added."
	}
	return sprintf("%s %s Nothing was changed. %s", raisedAlarm(c.f, c.s), why, text(c.alarmNext()))
}

// alarmNext is the next step: the member that raised CORRUPT may have been
// removed, which does not disarm the alarm.
func (c refusal) alarmNext() string {
	if c.f.Detail == membership.AlarmCorrupt {
		for _, id := range c.f.Others {
			if _, listed := c.s.Member(id); listed {
				return alarmWayOut(c.f.Detail, "apply again")
			}
		}
		return "The corrupt member is no longer in the cluster. Disarm" + disarm("apply again")
	}
	return alarmWayOut(c.f.Detail, "apply again")
}

// underAlarm words the warning for a removal under an alarm.
func underAlarm(doing string, f membership.Facts, s membership.Snapshot) Text {
	next := alarmWayOut(f.Detail, "apply again")
	if f.Detail == membership.AlarmCorrupt && slices.Equal(f.Others, []membership.MemberID{f.Subject}) {
		next = "Disarm" + disarm("apply again") // the corrupt member itself goes
	}
	return Text{
		doing + " under the alarm " + f.Detail,
		raisedAlarm(f, s) + " Nothing can be written until the alarm is disarmed, so this change is not guarded against other Terraform runs at the same time. " +
			next,
	}
}
