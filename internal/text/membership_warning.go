// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// WarningText returns the warning about a change that continues. action, name
// and s are as in [refused].
func WarningText(action reconfigure.Action, name string, w membership.Warning, s membership.Snapshot) Message {
	f := w.Facts
	name = orOwn(name, s, f.Subject)
	doing := map[reconfigure.Action]string{
		reconfigure.ActionAdd: "Adding", reconfigure.ActionPromote: "Promoting", reconfigure.ActionRemove: "Removing", reconfigure.ActionReplace: "Replacing",
	}[action]
	if doing == "" {
		doing = "Changing"
	}
	doing += " member " + name
	c := finding{f: f, s: s, again: ", then apply again"}
	others, count := shorts(s, f.Others), len(f.Others)

	switch w.Code {
	case membership.MemberDown:
		return New(doing+" while "+others+" "+plural(count, "is", "are")+" down",
			"%s The change is safe without %s: %s Bring %s back or remove %s soon.",
			memberAnswers(s, f.Others), plural(count, "it", "them"), ifItFails(name, f), plural(count, "it", "them"), plural(count, "it", "them"))
	case membership.MemberUnstarted:
		return New(doing+" while "+others+" "+plural(count, "has", "have")+" not started",
			"%s The change is safe without %s: %s Start %s or remove %s soon.",
			memberAnswers(s, f.Others), plural(count, "it", "them"), ifItFails(name, f), plural(count, "it", "them"), plural(count, "it", "them"))
	case membership.NotProbed:
		return New(doing+" without an answer of "+others,
			"%s The change is safe even if %s down: %s %s", memberAnswers(s, f.Others), plural(count, "it is", "they are"), ifItFails(name, f), c.wayTo())
	case membership.ToleranceZero:
		return toleranceZero(action, name, doing, f, s)
	case membership.KnownBadRelease:
		return Message{doing + " on a release with a known bug", c.knownBadRelease()}
	case membership.Unmanaged:
		return unmanaged(name, f, s)
	case membership.RecordDisagrees:
		return recordDisagrees(name, f, s)
	case membership.AlarmRaised:
		return underAlarm(doing, f, s)
	default:
		return New(doing, "The change goes on, with a warning: %s.", w.Code)
	}
}

func ifItFails(name string, f membership.Facts) string {
	return sprintf("if %s failed as a voter, %d of %d voters would be alive; quorum would be %d.", name, f.Alive, f.Voters, f.Quorum)
}

func toleranceZero(action reconfigure.Action, name, doing string, f membership.Facts, s membership.Snapshot) Message {
	t := Message{Summary: doing + " leaves no tolerance"}
	if action == reconfigure.ActionAdd || action == reconfigure.ActionPromote {
		t.Detail = sprintf("I%s If it does, no further voter may fail. %s", ifItFails(name, f)[1:], memberAnswers(s, f.Others))
		return t
	}
	t.Detail = sprintf("Without %s %d of %d voters are alive; quorum is %d: no further voter may fail.", Member(s, f.Subject), f.Alive, f.Voters, f.Quorum)
	if len(f.Others) > 0 {
		t.Detail += " " + memberAnswers(s, f.Others)
	}
	return t
}
