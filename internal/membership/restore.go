// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

// A restored cluster takes the place of one that is gone. It is the one exception
// to the rules for plans and removals: the members of the cluster that it replaces
// are forgotten, all of them in one plan, and none of them is removed. A plan
// needs a confirmation, the ID of that cluster, and a cluster that has its quorum
// is never abandoned. What is abandoned stays so: the confirmation is a part of
// the bootstrap from then on.

// RestoreRequest is what a plan asks of an initial cluster.
type RestoreRequest struct {
	// InState is whether the state has an initial cluster, and Cluster its ID, 0 if
	// that is not known.
	InState bool
	Cluster ClusterID
	// Replaced is the cluster that the one in the state has replaced, 0 for none.
	Replaced ClusterID
	// Confirmed is the cluster that is to be replaced, 0 for none; Unknown is true
	// while that is not known.
	Confirmed ClusterID
	Unknown   bool
	// SnapshotKnown is whether the plan knows which snapshot it is, and of which
	// revision.
	SnapshotKnown bool
	// SameToken is whether the new cluster would have the token, or the ID, of the
	// old one.
	SameToken bool
}

// The codes of [DecideRestore].
const (
	// ConfirmationUnknown: the plan does not know which cluster is to be replaced.
	ConfirmationUnknown Code = "confirmation unknown"
	// OtherConfirmed: the cluster that is confirmed is not the one in the state.
	OtherConfirmed Code = "other cluster confirmed"
	// SnapshotUnknown: the snapshot may not exist yet.
	SnapshotUnknown Code = "snapshot unknown"
	// SameIdentity: members of the old cluster could take part in the new one.
	SameIdentity Code = "same identity"
)

// DecideRestore decides what a plan may do with the initial cluster in the state,
// or with a new one: Go where it replaces the cluster that is confirmed, Done
// where it replaces none. The conditions are asked in this order: that nothing new
// is confirmed; that the confirmation is known, and is of the cluster in the
// state; that the snapshot exists; that the new cluster is another one.
func DecideRestore(r RestoreRequest) Decision {
	switch {
	case r.Unknown:
		return refuse(ConfirmationUnknown, Facts{})
	case r.Confirmed == 0, r.InState && r.Confirmed == r.Replaced:
		return Decision{Verdict: Done}
	case r.InState && r.Confirmed != r.Cluster:
		return refuse(OtherConfirmed, Facts{})
	case !r.SnapshotKnown:
		return refuse(SnapshotUnknown, Facts{})
	case r.SameToken:
		return refuse(SameIdentity, Facts{})
	default:
		return Decision{Verdict: Go}
	}
}

// HasQuorum is the code of [GuardAbandoned].
const HasQuorum Code = "has quorum"

// GuardAbandoned refuses to abandon a cluster that answers and may have its
// quorum. One of which no list can be had, and one in whose place another one
// answers, is not in the way.
func GuardAbandoned(s Snapshot, abandoned ClusterID) Decision {
	if s.ClusterID != abandoned || s.ClusterID == 0 {
		return Decision{Verdict: Go}
	}
	if d := s.Gate(0); d.Code != QuorumLost {
		return refuse(HasQuorum, d.Facts)
	}
	return Decision{Verdict: Go}
}
