// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// joinIncomplete returns the error for a join that did not finish in time.
func joinIncomplete(i *reconfigure.Incomplete) Message {
	r, late, state := i.Request, "Member "+i.Request.Name+" did not join in time", ""
	who := own(sprintf("%s (%s)", r.Name, i.Member.ID))
	last := func(action reconfigure.Action, answer, why string) string {
		if i.Decision.Code == "" {
			return answer + sentence(i.Cause) + "."
		}
		return why + reason(action, r.Name, i.Decision, i.Snapshot)
	}
	switch {
	case i.Unsure:
		return New(late, "The request to add the member was sent, and timed out before its outcome was known. The intent is recorded in the cluster: "+
			"apply again to continue, or remove the member from the configuration.")
	case i.Member.ID == 0:
		return New("Member "+r.Name+" could not be added in time", "Nothing was changed in the cluster. %s", own(last(reconfigure.ActionAdd, "The last answer was: ", "")))
	case !i.Member.Learner:
		return New(late, "%s is a voter according to the member list, and did not answer as one%s. Look at its log, and at what its client URLs answer from here; then apply again.%s",
			who, own(because(membership.Answer{Detail: i.Decision.Facts.Detail})), own(replaceIts("is gone, or lost its data")))
	case i.Reached == reconfigure.Announced:
		state = sprintf("was added with peer URLs %s as a learner and has not started. The quorum of the cluster has not changed. "+
			"Look at the log of its process: it must run with this name, these peer URLs and the cluster's present members."+logCauses, r.PeerURLs)
	case i.Stalled:
		state = sprintf("has started and shows no progress for %s: it is %d entries behind the leader. It stays a learner. "+
			"Look at its log, its disk and its network.", reconfigure.StallTimeout, i.Decision.Facts.Lag)
	default:
		state = "has started and was not promoted; it stays a learner. " +
			last(reconfigure.ActionPromote, "The time allowed for it ran out before the members had answered: ", "The last reason: ")
	}
	return New(late, "%s %s\n\nIt is recorded as added by this configuration: apply again to continue, or remove it from the configuration. "+
		"Each apply waits for timeouts.create (an update of an etcd_learner for timeouts.update).%s", who, own(state), own(replaceIts("is gone, or has the data of another member")))
}

// replaceIts is advice about the machine of a member.
func replaceIts(machine string) string {
	return "\n\nIf its machine " + machine + ", replace the machine (-replace). The member follows it."
}

// logCauses lists the lines in etcd's log (3.4 to 3.7) that show why a new
// member does not start.
const logCauses = " The log of the machine tells the cause:" +
	"\n  - \"etcd-join:\": the line of the join script says what it waits for, or why the member never starts (exit status 78)." +
	"\n  - \"the data-dir used by this member must be removed\": its disk has the data of a member that was removed." +
	"\n  - \"member count is unequal\": its environment names other members than the cluster has." +
	"\n  - \"incompatible with current running cluster\": its etcd is of another minor version than the cluster takes." +
	"\n  - no line at all: its machine does not run, or was created before its node (create_before_destroy, or no reference from the machine to etcd_cluster)."
