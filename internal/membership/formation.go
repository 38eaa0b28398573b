// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"errors"
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
		// A URL that contains a comma would be read as two entries.
		urls, err := spelled(slices.Sorted(slices.Values(initial[name])))
		if err != nil {
			return "", &EntryError{Entry: name + "=" + err.URL, Err: err}
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
	urls, err := spelled(peerURLs)
	if err != nil {
		return 0, err
	}
	return ComputeMemberID(urls, clusterToken), nil
}

// InitialMemberIDs returns the IDs of these initial members, peer URLs by name, and of the
// cluster that they form with this cluster token. The error is an [*EntryError].
func InitialMemberIDs(initial map[string][]string, clusterToken string) (map[string]MemberID, ClusterID, error) {
	if _, err := InitialClusterOf(initial); err != nil {
		return nil, 0, err
	}
	ids := make(map[string]MemberID, len(initial))
	for name, urls := range initial {
		ids[name], _ = InitialMemberID(urls, clusterToken) // checked above
	}
	return ids, ComputeClusterID(slices.Collect(maps.Values(ids))), nil
}

// spelled returns peer URLs as etcd writes them back and hashes them: parsed, with
// the scheme in lower case and the host unchanged.
func spelled(urls []string) (out []string, bad *URLError) {
	for _, raw := range urls {
		if _, err := NormalizeURL(raw); errors.As(err, &bad) {
			return nil, bad
		}
		scheme, rest, _ := strings.Cut(strings.TrimSuffix(strings.TrimSpace(raw), "/"), "://")
		out = append(out, strings.ToLower(scheme)+"://"+rest)
	}
	return out, nil
}
