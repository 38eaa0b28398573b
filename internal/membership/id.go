// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"fmt"
	"strconv"
	"strings"
)

// MemberID identifies a member within its cluster, permanently: etcd refuses an
// ID that was removed (etcd-io/etcd#1488). It is unsigned and uses all of its 64
// bits, so it is written in hexadecimal everywhere, as etcdctl does.
type MemberID uint64

// String returns the ID as etcdctl prints it: lower-case hexadecimal, without
// leading zeros.
func (id MemberID) String() string { return strconv.FormatUint(uint64(id), 16) }

// ParseMemberID parses the output of [MemberID.String]. It refuses an empty text,
// a sign, a "0x" prefix, more than 16 digits, and zero, which etcd uses for
// "none".
func ParseMemberID(s string) (MemberID, error) {
	n, err := parseID("member ID", s)
	return MemberID(n), err
}

// ClusterID identifies a cluster. It is computed from the initial members and the
// cluster token, and never changes.
type ClusterID uint64

// String returns the ID as etcdctl prints it.
func (id ClusterID) String() string { return strconv.FormatUint(uint64(id), 16) }

// ParseClusterID parses the output of [ClusterID.String], with the same limits as
// [ParseMemberID].
func ParseClusterID(s string) (ClusterID, error) {
	n, err := parseID("cluster ID", s)
	return ClusterID(n), err
}

func parseID(what, s string) (uint64, error) {
	if s == "" || len(s) > 16 || strings.Trim(strings.ToLower(s), "0123456789abcdef") != "" {
		return 0, fmt.Errorf("%q is not a %s: want 1 to 16 hexadecimal digits, such as 8e9e05c52164694d", s, what)
	}
	n, err := strconv.ParseUint(s, 16, 64)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%q is not a %s: want 1 to 16 hexadecimal digits that are not all zero", s, what)
	}
	return n, nil
}
