// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdsim

import (
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Version is a version of etcd from 3.5 on, such as "3.6.16". A process keeps the
// rules of its version.
type Version string

// atLeast reports whether a version is at least the given patch of 3.5 or of 3.6.
// Later minor versions always are.
func (v Version) atLeast(patch35, patch36 int) bool {
	var minor, patch int
	_, _ = fmt.Sscanf(string(v), "3.%d.%d", &minor, &patch)
	switch minor {
	case 5:
		return patch >= patch35
	case 6:
		return patch >= patch36
	}
	return minor > 6
}

// never is a patch that a minor version does not have.
const never = 1 << 30

// from36 reports whether a version is at least 3.6.0.
func (v Version) from36() bool { return v.atLeast(never, 0) }

// countsQuorumToAdd: since 3.5.30 and 3.6.11 an add needs connections to a quorum
// of the members with the new one, and before to every voter
// (isConnectedToQuorumAfterAddingNewMemberSince, server/etcdserver/util.go).
func (v Version) countsQuorumToAdd() bool { return v.atLeast(30, 11) }

// keepsLearnerOnUpdate: before 3.5.31 and 3.6.12 an update of peer URLs clears
// IsLearner in the list, while raft keeps the learner (etcd-io/etcd#21694).
func (v Version) keepsLearnerOnUpdate() bool { return v.atLeast(31, 12) }

// learnerError is the answer of a learner to what it does not serve.
func (v Version) learnerError() error {
	if v.from36() {
		return rpctypes.ErrGRPCNotSupportedForLearner
	}
	return status.Error(codes.Unavailable, rpctypes.ErrorDesc(rpctypes.ErrGRPCNotSupportedForLearner))
}

// snapshotError is an error for the user of a snapshot: 3.5 gives it no code.
func (v Version) snapshotError(err error) error {
	if s := status.Convert(err); err != nil && !v.from36() {
		return status.Error(codes.Unknown, strings.TrimPrefix(s.Message(), "etcdserver: "))
	}
	return err
}

// storageVersion returns the version of the database's schema, which 3.6 introduced.
func (v Version) storageVersion() string {
	if !v.from36() {
		return ""
	}
	return v.minor()
}

// minor returns the first release of the same minor version.
func (v Version) minor() string { return fmt.Sprintf("%.3s.0", v) }

// before returns the minor version before, such as "3.5".
func (v Version) before() string {
	var minor int
	_, _ = fmt.Sscanf(string(v), "3.%d.", &minor)
	return fmt.Sprint("3.", minor-1)
}
