// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"maps"
	"slices"
	"strings"
)

// InitialClusterOf formats the initial members of a cluster, peer URLs by name,
// as the value of ETCD_INITIAL_CLUSTER, sorted. etcd computes the member IDs from
// the URLs, so they keep their spelling, except for white space and a trailing
// slash, which etcd does not accept, and a scheme in upper case. The error is an
// [*EntryError]; for a member without a URL it wraps [errNoURL].
func InitialClusterOf(initial map[string][]string) (string, error) {
	if len(initial) == 0 {
		return "", &EntryError{Err: ErrNoEntries}
	}
	var members []Member
	for _, name := range slices.Sorted(maps.Keys(initial)) {
		if err := ValidateName(name); err != nil {
			return "", &EntryError{Entry: name, Err: err}
		}
		if len(initial[name]) == 0 {
			return "", &EntryError{Entry: name, Err: errNoURL}
		}
		urls := slices.Clone(initial[name])
		slices.Sort(urls)
		for i, u := range urls {
			// A URL that contains a comma would be read as two entries.
			if _, err := NormalizeURL(u); err != nil {
				return "", &EntryError{Entry: name + "=" + Masked(strings.TrimSpace(u)), Err: err}
			}
			urls[i] = spelled(u)
		}
		members = append(members, Member{Name: name, PeerURLs: urls})
	}
	text := FormatInitialCluster(members)
	// Parsing the text detects a URL that two members share.
	if _, err := ParseInitialCluster(text); err != nil {
		return "", err
	}
	return text, nil
}

// InitialMemberID returns the ID of an initial member with these peer URLs and this
// cluster token, see [ComputeMemberID]. The error is a [*URLError].
func InitialMemberID(peerURLs []string, clusterToken string) (MemberID, error) {
	if len(peerURLs) == 0 {
		return 0, &URLError{Problem: URLEmpty}
	}
	urls := make([]string, len(peerURLs))
	for i, u := range peerURLs {
		if _, err := NormalizeURL(u); err != nil {
			return 0, err
		}
		urls[i] = spelled(u)
	}
	return ComputeMemberID(urls, clusterToken, nil), nil
}

// InitialMemberIDs returns the IDs of these initial members, peer URLs by name, and of the
// cluster that they form with this cluster token. The error is an [*EntryError].
func InitialMemberIDs(initial map[string][]string, clusterToken string) (map[string]MemberID, ClusterID, error) {
	if _, err := InitialClusterOf(initial); err != nil {
		return nil, 0, err
	}
	ids := make(map[string]MemberID, len(initial))
	for name, urls := range initial {
		id, err := InitialMemberID(urls, clusterToken)
		if err != nil {
			return nil, 0, &EntryError{Entry: name, Err: err}
		}
		ids[name] = id
	}
	return ids, ComputeClusterID(slices.Collect(maps.Values(ids))), nil
}

// spelled returns a peer URL as etcd writes it back and hashes it: parsed, with
// the scheme in lower case and the host unchanged.
func spelled(raw string) string {
	raw = strings.TrimSuffix(strings.TrimSpace(raw), "/")
	if scheme, rest, ok := strings.Cut(raw, "://"); ok {
		return strings.ToLower(scheme) + "://" + rest
	}
	return raw
}
