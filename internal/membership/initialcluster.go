// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// NameProblem says what is wrong with a member's name; package text words it.
type NameProblem string

// The problems.
const (
	NameEmpty     NameProblem = "empty"
	NameSeparator NameProblem = "separator" // '=' or ',' would end it in an initial cluster
	NameCharacter NameProblem = "character" // white space, a control character, or not UTF-8
	NameAlphabet  NameProblem = "alphabet"  // a character outside of [nameCharacters]
	NameLong      NameProblem = "too long"  // more than 253 bytes
)

// nameCharacters are the characters allowed in a new member's name: those that
// need no quotes in an initial cluster, an environment file, a shell and the name
// of a data directory (NAME.etcd). The join script accepts the same characters.
const nameCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:@%+~-"

// NameError reports a name that no member can have.
type NameError struct {
	Name    string
	Problem NameProblem
}

// Error returns a short text for logs; package text words the diagnostics.
func (e *NameError) Error() string {
	return "member name " + strconv.Quote(e.Name) + ": " + string(e.Problem)
}

// ValidateName returns a [*NameError] for a name that a new member cannot have,
// or that cannot be rendered for its machine. etcd itself accepts any text, and
// fails later. For the name of an existing member see [ValidateListedName].
func ValidateName(name string) error {
	if err := ValidateListedName(name); err != nil {
		return err
	}
	if strings.Trim(name, nameCharacters) != "" {
		return &NameError{name, NameAlphabet}
	}
	return nil
}

// ValidateListedName returns a [*NameError] for a name that a member cannot have
// in Terraform. It accepts more than [ValidateName], because existing members
// must be shown, imported and removed whatever their names are.
func ValidateListedName(name string) error {
	switch {
	case name == "":
		return &NameError{name, NameEmpty}
	case strings.ContainsAny(name, "=,"):
		return &NameError{name, NameSeparator}
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }):
		return &NameError{name, NameCharacter}
	case len(name) > maxNameLen:
		return &NameError{name, NameLong}
	}
	return nil
}

// FormatInitialCluster formats the members as the value of ETCD_INITIAL_CLUSTER:
// name=url pairs, sorted, one for each peer URL. A new member compares their
// count and URLs with the cluster's; the names of the others do not matter. A
// member that has no name yet, or whose name would break the list or merge with
// another member, therefore gets a placeholder made from its ID. The caller sets
// the name in the new member's own entry.
func FormatInitialCluster(members []Member) string {
	members = slices.Clone(members)
	slices.SortFunc(members, func(a, b Member) int { return cmp.Compare(a.ID, b.ID) })
	taken := map[string]bool{}
	for _, m := range members {
		taken[m.Name] = true
	}
	used := map[string]bool{}
	var pairs []string
	for _, m := range members {
		name := m.Name
		if ValidateName(name) != nil || used[name] {
			name = "m" + m.ID.String()
			for taken[name] {
				name += "_"
			}
			taken[name] = true
		}
		used[name] = true
		pairs = append(pairs, each(m.PeerURLs, func(url string) string { return name + "=" + strings.TrimSpace(url) })...)
	}
	slices.Sort(pairs)
	return strings.Join(pairs, ",")
}

// Reasons to refuse an entry of an initial cluster, in addition to a [*NameError]
// and a [*URLError].
var (
	// errNoURL: the entry has no '=', or the member has no URL.
	errNoURL = errors.New("want name=url")
	// ErrDuplicateURL: the list contains the peer URL twice.
	ErrDuplicateURL = errors.New("the peer URL is in the list twice")
	// ErrNoEntries: the list is empty.
	ErrNoEntries = errors.New("no entries")
)

// EntryError reports an entry of an initial cluster that cannot be used. Err is
// one of the errors above, a [*NameError] or a [*URLError].
type EntryError struct {
	Entry string
	Err   error
}

// Error returns a short text for logs; package text words the diagnostics.
func (e *EntryError) Error() string {
	return fmt.Sprintf("initial cluster entry %q: %v", e.Entry, e.Err)
}

// Unwrap returns the reason.
func (e *EntryError) Unwrap() error { return e.Err }

// ParseInitialCluster parses the output of [FormatInitialCluster]. It returns the
// peer URLs of each name, in the spelling and the order of the text. A name may
// occur several times, once for each URL. The error is an [*EntryError].
func ParseInitialCluster(s string) (map[string][]string, error) {
	if strings.TrimSpace(s) == "" {
		return nil, &EntryError{Err: ErrNoEntries}
	}
	out := map[string][]string{}
	seen := map[string]bool{}
	for _, entry := range strings.Split(s, ",") {
		entry = strings.TrimSpace(entry)
		bad := func(err error) (map[string][]string, error) {
			return nil, &EntryError{Entry: Masked(entry), Err: err}
		}
		name, raw, ok := strings.Cut(entry, "=")
		if !ok {
			return bad(errNoURL)
		}
		name, raw = strings.TrimSpace(name), strings.TrimSpace(raw)
		normal, badURL := NormalizeURL(raw)
		if err := cmp.Or(ValidateListedName(name), badURL); err != nil {
			return bad(err)
		}
		if seen[normal] {
			return bad(ErrDuplicateURL)
		}
		seen[normal] = true
		out[name] = append(out[name], raw)
	}
	return out, nil
}

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
// the scheme in lower case and the host unchanged. It refuses what [NormalizeURL] refuses,
// and an empty list.
func spelled(urls []string) (out []string, bad *URLError) {
	if len(urls) == 0 {
		return nil, &URLError{Problem: URLEmpty}
	}
	for _, raw := range urls {
		if _, err := NormalizeURL(raw); errors.As(err, &bad) {
			return nil, bad
		}
		scheme, rest, _ := strings.Cut(strings.TrimSuffix(strings.TrimSpace(raw), "/"), "://")
		out = append(out, strings.ToLower(scheme)+"://"+rest)
	}
	return out, nil
}
