// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"cmp"
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// FailoverEvidence says which voters are lost, and what the promotion of the
// standby waits for.
func FailoverEvidence(s membership.Snapshot, f membership.Failover) string {
	text := strings.Join(each(s, f.Lost, FailureEvidence), " ")
	if f.First {
		text += sprintf(" The promotion waits until %s been removed from the cluster: by the same apply, if that replaces or removes it.",
			shorts(s, f.Lost)+plural(len(f.Lost), " has", " have"))
	}
	return text
}

// FailoverPlanned returns the warning for the promotion of a standby.
var FailoverPlanned = of2[string, string]("Standby %[1]s is promoted by this plan",
	"%[2]s A promotion cannot be undone. If the voter is only rebooting, wait and plan again.")

// FailoverHeldUp returns the warning for a standby that was not promoted.
func FailoverHeldUp(name string, h *reconfigure.HeldUp) Message {
	if h.Back {
		return New("Standby "+name+" was not promoted",
			"%s %s back. %s stays a learner.", capital(members(h.Snapshot, h.Lost)), plural(len(h.Lost), "is", "are"), name)
	}
	voters := membership.IDs(h.Snapshot.Voters())
	dead := finding{s: h.Snapshot, f: membership.Facts{Others: voters}}.unhealthy()
	who := cmp.Or(shorts(h.Snapshot, h.Lost), "the voter that does not answer")
	return New("Standby "+name+" was not promoted",
		"If %s failed as a voter, %d of %d voters would be alive; quorum would be %d. Remove %s first: replace it in the same apply "+
			"(replace_unreachable_after, or -replace of its machine) or remove it, then apply again. %s stays a learner.",
		name, len(voters)-len(dead), len(voters)+1, membership.Quorum(len(voters)+1), who, name)
}
