// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

// A restored cluster takes the place of a cluster that is gone. It is the only
// exception to the rules for plans and removals: one plan forgets all members of
// the replaced cluster, and none of them is removed. A plan needs a confirmation,
// the ID of that cluster, and [DecideGiveUp] says whether it may be abandoned.
// An abandoned cluster stays abandoned: the confirmation is a part of the
// bootstrap from then on.

// RestoreRequest is what a plan requests of an initial cluster.
type RestoreRequest struct {
	// InState is true if the state has an initial cluster. Cluster is its ID, or
	// 0 if the ID is not known.
	InState bool
	Cluster ClusterID
	// Replaced is the cluster that the cluster in state has replaced, or 0.
	Replaced ClusterID
	// Confirmed is the cluster to replace, or 0. Unknown is true while that is
	// not known.
	Confirmed ClusterID
	Unknown   bool
	// SnapshotKnown is true if the plan knows the snapshot and its revision.
	SnapshotKnown bool
	// SameToken is true if the new cluster would have the token or the ID of the
	// old cluster.
	SameToken bool
}

// The codes of [DecideRestore].
const (
	// ConfirmationUnknown: the plan does not know which cluster to replace.
	ConfirmationUnknown Code = "confirmation unknown"
	// OtherConfirmed: the confirmed cluster is not the cluster in state.
	OtherConfirmed Code = "other cluster confirmed"
	// SnapshotUnknown: the snapshot may not exist yet.
	SnapshotUnknown Code = "snapshot unknown"
	// SameIdentity: members of the old cluster could take part in the new one.
	SameIdentity Code = "same identity"
)

// DecideRestore decides what a plan may do with the initial cluster in state, or
// with a new one. The verdict is Go if the plan replaces the confirmed cluster,
// and Done if it replaces none. It checks in this order: the confirmation is
// known; nothing new is confirmed; the confirmation is for the cluster in state;
// the snapshot exists; the new cluster is another cluster.
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
