// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// FailureEvidence describes what provider and leader observe of a silent member.
func FailureEvidence(s membership.Snapshot, id membership.MemberID) string {
	leader, _, ok := s.MajorityLeader()
	if !ok {
		return MemberAnswer(s, id)
	}
	return sprintf("%s The leader, %s, has no connection to it.", MemberAnswer(s, id), Member(s, leader))
}

// MemberFailed returns the warning for the replacement of a failed member.
func MemberFailed(name string, since time.Time, evidence string) Message {
	return newMessage("Member "+name+" has failed and is replaced",
		"It has not answered since %s. %s\n\nThe plan removes the failed member first, then a new machine joins in its place. "+
			"If it is only rebooting, wait and plan again.",
		since.Format(time.RFC3339), evidence)
}

// MemberFailedToo returns the warning for a failed member that is replaced later.
func MemberFailedToo(name string, since time.Time, evidence string) Message {
	return newMessage("Member "+name+" has failed too",
		"It has not answered since %s. %s One member is replaced per apply; this one follows with the next.", since.Format(time.RFC3339), evidence)
}

// MemberSilent returns the warning for a silent member that is not replaced.
func MemberSilent(name string, since time.Time, evidence string) Message {
	return newMessage("Member "+name+" does not answer",
		"It has not answered since %s. %s If it has permanently failed, replace it with its machine. "+Shown+":"+
			replaceCommand+"\n\nWith replace_unreachable_after set, a plan does this. See "+guides+"replace-a-failed-member"+"",
		since.Format(time.RFC3339), evidence)
}

// MemberRetired returns the warning for the replacement of a member that is no
// longer in the cluster.
func MemberRetired(name string) Message {
	return newMessage("Member "+name+" is replaced: it was removed",
		"It has run and is no longer in the cluster: it was removed outside Terraform, or its replacement did not finish. etcd does not start with the data of a removed member, and the identity must not be used again with an empty disk. "+
			"So the plan replaces its configuration and the machine that uses it.\n\nTo remove %s permanently, remove it from the configuration instead.",
		name)
}

// QuorumIsLost returns the warning of a refresh for a cluster without a quorum.
func QuorumIsLost(d membership.Decision, s membership.Snapshot) Message {
	return Message{"The cluster has lost its quorum", refused(reconfigure.ActionReplace, "", d, s).Detail}
}
