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

// Version is a version of etcd from 3.5 on, such as "3.6.16". A process keeps the rules
// that the last patches of its minor version have.
type Version string

// from36 reports whether a version is at least 3.6.
func (v Version) from36() bool { return v >= "3.6" }

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
