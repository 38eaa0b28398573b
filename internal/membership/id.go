// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"crypto/sha1" //nolint:gosec // the IDs are etcd's, and it computes them so
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
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
func ParseMemberID(s string) (MemberID, error) { return parseID[MemberID]("member ID", s) }

// ClusterID identifies a cluster. It is computed from the initial members and the
// cluster token, and never changes.
type ClusterID uint64

// String returns the ID as etcdctl prints it.
func (id ClusterID) String() string { return strconv.FormatUint(uint64(id), 16) }

// ParseClusterID parses the output of [ClusterID.String], with the same limits as
// [ParseMemberID].
func ParseClusterID(s string) (ClusterID, error) { return parseID[ClusterID]("cluster ID", s) }

func parseID[ID ~uint64](what, s string) (ID, error) {
	n, err := strconv.ParseUint(s, 16, 64)
	if err != nil || n == 0 || len(s) > 16 {
		return 0, fmt.Errorf("%q is not a %s: want 1 to 16 hexadecimal digits that are not all zero, such as 8e9e05c52164694d", s, what)
	}
	return ID(n), nil
}

// union returns the IDs of all lists, sorted and without duplicates, or nil if none.
func union(lists ...[]MemberID) []MemberID {
	all := slices.Concat(lists...)
	slices.Sort(all)
	return slices.Compact(all)
}

// in returns what is in the first list and also in the second list.
func in[E comparable](list, set []E) []E {
	return keep(list, func(e E) bool { return slices.Contains(set, e) })
}

// keep returns those of a list for which is returns true, or nil if there are none.
func keep[E any](list []E, is func(E) bool) (out []E) {
	for _, e := range list {
		if is(e) {
			out = append(out, e)
		}
	}
	return out
}

// find returns the first of a list for which is returns true.
func find[E any](list []E, is func(E) bool) (found E, ok bool) {
	if i := slices.IndexFunc(list, is); i >= 0 {
		return list[i], true
	}
	return found, false
}

// each returns what of returns for each of a list, or nil for an empty one.
func each[E, T any](list []E, of func(E) T) (out []T) {
	for _, e := range list {
		out = append(out, of(e))
	}
	return out
}

// IDs returns the IDs of members.
func IDs(members []Member) []MemberID { return each(members, func(m Member) MemberID { return m.ID }) }

// ComputeMemberID returns the ID that etcd gives a member: the first eight bytes
// of SHA-1 over its peer URLs (sorted as strings and joined), then the cluster
// token.
//
// An initial member has the token of its bootstrap (etcd's default is "etcd-cluster";
// with discovery it is the discovery token), so that all initial members compute the
// same IDs. A member that is added later has in its place the time at which it was added,
// in seconds since 1970. The URLs are hashed as they are spelled in the
// settings of the initial member, so they are not normalised here. A computed ID
// is never zero in practice, but nothing rules it out.
func ComputeMemberID(peerURLs []string, clusterToken string) MemberID {
	urls := slices.Sorted(slices.Values(peerURLs))
	return MemberID(firstEight([]byte(strings.Join(urls, "") + clusterToken)))
}

// ComputeClusterID returns the ID of the cluster that initial members with these
// IDs form: the first eight bytes of SHA-1 over the IDs in ascending order, eight
// bytes each.
func ComputeClusterID(initial []MemberID) ClusterID {
	ids := slices.Sorted(slices.Values(initial))
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

// ErrNoClusterID means that a key was requested before the cluster ID was known.
var ErrNoClusterID = errors.New("the cluster ID is not known")

// MetadataPrefix is the prefix of the provider's keys in a cluster: the lock,
// ownership records and turns.
const MetadataPrefix = "/_terraform/etcd/"

// MetadataKey returns the key of data that the provider keeps about a cluster in
// that cluster, below [MetadataPrefix]: "<prefix><cluster ID>/<name>". The ID is part of every key: a
// cluster that is restored from a backup has another ID, and the records, turns
// and locks in the backup must not apply to it. The error is [ErrNoClusterID] if
// the ID is 0.
func MetadataKey(id ClusterID, name string) (string, error) {
	if id == 0 {
		return "", ErrNoClusterID
	}
	return MetadataPrefix + id.String() + "/" + name, nil
}
