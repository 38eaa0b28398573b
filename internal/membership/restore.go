// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

// The restore of etcd_cluster is an update in place: all nodes get new IDs, and form a
// cluster from a snapshot in place of the lost cluster. Until the restored cluster has
// answered, the nodes of the lost one are kept, and the restore can be withdrawn.
// [DecideGiveUp] says whether a cluster may be given up.

// RestoreAction is what a plan does with the restore of etcd_cluster.
type RestoreAction uint8

const (
	// RestoreRefused: the code says why.
	RestoreRefused RestoreAction = iota
	// RestoreNothing: the plan restores nothing, and withdraws nothing.
	RestoreNothing
	// RestoreNow: the plan gives up the cluster in the state, and all nodes are new.
	RestoreNow
	// RestoreOnTheWay: an earlier apply has built the nodes, and the restored cluster
	// has not answered yet.
	RestoreOnTheWay
	// RestoreWithdrawn: the plan gives up the restored cluster, which has not answered
	// yet, and puts the nodes before back.
	RestoreWithdrawn
)

// RestoreRequest is what a plan requests of an etcd_cluster in the state.
type RestoreRequest struct {
	// Cluster is the cluster in the state, or 0 if its ID is not known. Replaced is the
	// cluster that restore replaces in the state, or 0.
	Cluster, Replaced ClusterID
	// Before is the cluster whose nodes are kept, or 0 if none are. BeforeReplaced is
	// what restore replaced when they were in force, or 0.
	Before, BeforeReplaced ClusterID
	// Confirmed is the cluster that the configuration replaces, or 0. Unknown is true
	// while that is not known.
	Confirmed ClusterID
	Unknown   bool
	// SnapshotKnown is true if the plan knows the snapshot. SnapshotChanged is true if it
	// is another one than in the state.
	SnapshotKnown, SnapshotChanged bool
	// NamesMissing is true if the plan lacks a name that the state has.
	NamesMissing bool
}

// The codes of [DecideRestore].
const (
	// ConfirmationUnknown: the plan does not know which cluster to replace.
	ConfirmationUnknown Code = "confirmation unknown"
	// OtherConfirmed: the confirmed cluster is not the cluster in the state.
	OtherConfirmed Code = "other cluster confirmed"
	// SnapshotUnknown: the snapshot may not exist yet.
	SnapshotUnknown Code = "snapshot unknown"
	// StillOnTheWay: the restored cluster has not answered yet, and the configuration
	// has another snapshot, or replaces the restored cluster.
	StillOnTheWay Code = "restore on the way"
	// NamesMissing: members of the replaced cluster are not in the plan. Their machines
	// must be replaced together with the others.
	NamesMissing Code = "names missing"
)

// DecideRestore decides what a plan does with the restore of an etcd_cluster. It checks in
// this order: the confirmation is known; a restore on the way goes on as it is, or is
// withdrawn; something new is confirmed; the confirmation is for the cluster in the state;
// the snapshot exists; all names stay. The code is "" unless the plan is refused.
func DecideRestore(r RestoreRequest) (RestoreAction, Code) {
	onTheWay := r.Before != 0
	switch {
	case r.Unknown:
		return RestoreRefused, ConfirmationUnknown
	case onTheWay && (r.Confirmed == 0 || r.Confirmed == r.BeforeReplaced):
		return RestoreWithdrawn, ""
	case onTheWay && r.Confirmed == r.Before && !r.SnapshotChanged:
		return RestoreOnTheWay, ""
	case onTheWay && (r.Confirmed == r.Before || r.Confirmed == r.Cluster):
		return RestoreRefused, StillOnTheWay
	case r.Confirmed == 0, r.Confirmed == r.Replaced && !onTheWay:
		return RestoreNothing, ""
	case r.Confirmed != r.Cluster:
		return RestoreRefused, OtherConfirmed
	case !r.SnapshotKnown:
		return RestoreRefused, SnapshotUnknown
	case r.NamesMissing:
		return RestoreRefused, NamesMissing
	}
	return RestoreNow, ""
}
