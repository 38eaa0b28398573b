// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
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

// QuorumIsLost returns the warning of a refresh for a cluster without a quorum.
func QuorumIsLost(d membership.Decision, s membership.Snapshot) Message {
	return Message{"The cluster has lost its quorum", reason(reconfigure.ActionReplace, "", d, s)}
}
