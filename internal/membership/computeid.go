// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"crypto/sha1" //nolint:gosec // the IDs are etcd's, and it computes them so
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ComputeMemberID returns the ID that etcd gives a member: the first eight bytes
// of SHA-1 over its peer URLs (sorted as strings and joined), then the cluster
// token, then the time at which it was added, in whole seconds.
//
// An initial member has no time (nil) and the token of its bootstrap (etcd's
// default is "etcd-cluster"; with discovery it is the discovery token), so that
// all initial members compute the same IDs. A member that is added later has a
// time and an empty token. The URLs are hashed as they are spelled in the
// settings of the initial member, so they are not normalised here. A computed ID
// is never zero in practice, but nothing rules it out.
func ComputeMemberID(peerURLs []string, clusterToken string, addedAt *time.Time) MemberID {
	urls := make([]string, 0, len(peerURLs))
	for _, u := range peerURLs {
		urls = append(urls, strings.TrimSpace(u))
	}
	slices.Sort(urls)
	text := strings.Join(urls, "") + clusterToken
	if addedAt != nil {
		text += strconv.FormatInt(addedAt.Unix(), 10)
	}
	return MemberID(firstEight([]byte(text)))
}

// ComputeClusterID returns the ID of the cluster that initial members with these
// IDs form: the first eight bytes of SHA-1 over the IDs in ascending order, eight
// bytes each.
func ComputeClusterID(initial []MemberID) ClusterID {
	ids := slices.Clone(initial)
	slices.Sort(ids)
	text := make([]byte, 0, 8*len(ids))
	for _, id := range ids {
		text = binary.BigEndian.AppendUint64(text, uint64(id))
	}
	return ClusterID(firstEight(text))
}

func firstEight(text []byte) uint64 {
	sum := sha1.Sum(text) //nolint:gosec // see the import
	return binary.BigEndian.Uint64(sum[:8])
}
