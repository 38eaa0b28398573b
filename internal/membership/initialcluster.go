// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// NameProblem says what is wrong with a member's name; package diag words it.
type NameProblem string

// The problems.
const (
	NameEmpty     NameProblem = "empty"
	NameSeparator NameProblem = "separator" // '=' or ',' would end it in an initial cluster
	NameCharacter NameProblem = "character" // white space, a control character, or not UTF-8
	NameAlphabet  NameProblem = "alphabet"  // a character outside of [nameCharacters]
	NameLong      NameProblem = "too long"  // more than 253 bytes
)

// nameCharacters are the characters of a new member's name: those that stand
// unquoted in an initial cluster, an environment file, a shell and the name of
// a data directory (NAME.etcd). The join script takes the same.
const nameCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:@%+~-"

// NameError is a name that no member can bear.
type NameError struct {
	Name    string
	Problem NameProblem
}

// Error returns a short text for logs; package diag has the full sentences.
func (e *NameError) Error() string {
	return "member name " + strconv.Quote(e.Name) + ": " + string(e.Problem)
}

// ValidateName returns a [*NameError] for a name that a new member cannot
// bear, or that cannot be rendered for its machine. etcd itself takes any text,
// and fails later; for the name of a member that exists see [ValidateListedName].
func ValidateName(name string) error {
	if err := ValidateListedName(name); err != nil {
		return err
	}
	if strings.Trim(name, nameCharacters) != "" {
		return &NameError{name, NameAlphabet}
	}
	return nil
}

// ValidateListedName returns a [*NameError] for a name that cannot be the name
// of a member in Terraform. It takes more than [ValidateName], because members
// that exist must be shown, imported and removed whatever they are called.
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

// FormatInitialCluster writes the members as ETCD_INITIAL_CLUSTER wants them:
// name=url pairs, sorted, one for each peer URL. A joiner compares their count
// and URLs with the cluster's; the names of others do not matter, so a member
// that has none yet, or whose name would break the list or merge it with
// another member, gets a placeholder made of its ID. The caller gives the
// joiner's own entry its name.
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
		for _, u := range m.PeerURLs {
			pairs = append(pairs, name+"="+strings.TrimSpace(u))
		}
	}
	slices.Sort(pairs)
	return strings.Join(pairs, ",")
}

// Reasons for which an entry of an initial cluster is refused, besides a
// [*NameError] and a [*URLError].
var (
	// errNoURL: the entry has no '='.
	errNoURL = errors.New("want name=url")
	// ErrDuplicateURL: the peer URL stands in the list twice.
	ErrDuplicateURL = errors.New("the peer URL is in the list twice")
	// ErrNoEntries: the list is empty.
	ErrNoEntries = errors.New("no entries")
)

// EntryError is an entry of an initial cluster that cannot be used. Err is one
// of the errors above, a [*NameError] or a [*URLError].
type EntryError struct {
	Entry string
	Err   error
}

// Error returns a short text for logs; package diag has the full sentences.
func (e *EntryError) Error() string {
	return fmt.Sprintf("initial cluster entry %q: %v", e.Entry, e.Err)
}

// Unwrap returns the reason.
func (e *EntryError) Unwrap() error { return e.Err }

// ParseInitialCluster reads what [FormatInitialCluster] writes: for each name
// its peer URLs, as they stand in the text and in their order there. A name
// may stand there several times, once for each URL. The error is an
// [*EntryError].
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
		if err := ValidateListedName(name); err != nil {
			return bad(err)
		}
		normal, err := NormalizeURL(raw)
		if err != nil {
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
