// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"cmp"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// WarningText returns the warning about a change that continues. action, name
// and s are as in [refused].
func WarningText(action reconfigure.Action, name string, w membership.Warning, s membership.Snapshot) Message {
	return finding{action: action, name: orOwn(name, s, w.Facts.Subject), d: membership.Decision{Code: w.Code}, f: w.Facts, s: s, again: ", then apply again"}.text(warnings)
}

const ifItFails = "If {name} failed as a voter, {alive} of {voters} voters would be alive; quorum would be {quorum}."

func (c finding) doing() string {
	doing := map[reconfigure.Action]string{
		reconfigure.ActionAdd: "Adding", reconfigure.ActionPromote: "Promoting", reconfigure.ActionRemove: "Removing", reconfigure.ActionReplace: "Replacing",
	}[c.action]
	return cmp.Or(doing, "Changing") + " member " + c.name
}

var warnings = wordings{
	membership.MemberDown: {{summary: "{doing} while {shorts} {is|are} down",
		cause: "{answers} The change is safe without {it|them}. " + ifItFails, next: "Bring {it|them} back or remove {it|them} soon."}},
	membership.MemberUnstarted: {{summary: "{doing} while {shorts} {has|have} not started",
		cause: "{answers} The change is safe without {it|them}. " + ifItFails, next: "Start {it|them} or remove {it|them} soon."}},
	membership.URLsPending: {{summary: "{doing} while peer URLs of {shorts} are pending",
		cause: "{answers} The change is safe without {it|them}. " + ifItFails, next: "{remedy}."}},
	membership.NotProbed: {{summary: "{doing} without an answer of {shorts}",
		cause: "{answers} The change is safe even if {it is|they are} down. " + ifItFails, next: "{way}"}},
	membership.ToleranceZero: {
		{when: finding.isRemoval, summary: "{doing} leaves no tolerance",
			cause: "Without {subject} {alive} of {voters} voters are alive; quorum is {quorum}: no further voter may fail. {answers}"},
		{summary: "{doing} leaves no tolerance", cause: ifItFails + " If it does, no further voter may fail. {answers}"},
	},
	membership.KnownBadRelease: {{summary: "{doing} on a release with a known bug",
		cause: refusals[membership.KnownBadRelease][0].cause, next: refusals[membership.KnownBadRelease][0].next}},
	membership.AlarmRaised: {{summary: "{doing} under the alarm {detail}",
		cause: noWrites + "so this change is not guarded against other Terraform runs at the same time.", next: "{disarm}"}},
	membership.Unmanaged: {{summary: "Member {name} is no longer managed",
		cause: "The node of {name} was removed, and its member {subject} is still a voting member: {vote}. A voter that lives is never removed with its node, so it stays in the cluster.",
		next: "To manage it again, import it; ADDRESS is the address of an etcd_member for it:\n\n" +
			"  terraform import 'ADDRESS' {id}\n\nTo remove it from the cluster instead, run:\n\n  etcdctl member remove {id}"}},
	membership.RecordDisagrees: {{summary: "The record of member {name} is wrong",
		cause: "The ownership record of this node names {subject}. Record, node and member list do not agree on its owner, its name or its peer URLs. " +
			"No member was removed, and the record was deleted.",
		next: "If that member was added for {name}, remove it:\n\n  etcdctl member remove {id}"}},
}

// The texts for a removed node whose member is, or may be, in the
// cluster.

// BackstopSkipped returns the warning for a node that is removed
// permanently while the cluster cannot decide about its member.
func BackstopSkipped(name string, err error) Message {
	return New("Could not check what was added for "+name,
		"The node was removed, and the cluster did not answer or has no quorum. Nothing was changed in the cluster. "+
			"If the cluster still exists, find the ID of %s in its member list, and remove that member if it is there:\n\n"+
			"  etcdctl member list\n  etcdctl member remove ID%s",
		name, own(cause(err)))
}

// vote says why a voter is not known to be dead.
func vote(s membership.Snapshot, id membership.MemberID) string {
	if s.Alive(id) {
		return "it answers at " + s.Answer(id).Endpoint
	}
	return "it is not known to be dead, because the leader may still have a connection to it"
}
