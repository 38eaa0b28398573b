// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"cmp"
	"errors"
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// PeerURL returns the error for an invalid peer URL.
func PeerURL(err *membership.URLError) Message {
	return Message{"Invalid peer URL", peerURLDetail(err)}
}

// URLIn returns the error for an invalid URL in an argument. at is the argument
// or its element.
func URLIn(at string, err *membership.URLError) Message {
	argument, _, _ := strings.Cut(at, "[")
	return New("Invalid URL in "+argument, "%s: %s", argument, own(peerURLDetail(err)))
}

// urlProblems are formats that describe what is wrong with a URL, their only argument.
var urlProblems = map[membership.URLProblem]string{
	membership.URLEmpty:      "The URL is empty." + wantURL,
	membership.URLNoScheme:   "%s has no scheme." + wantURL,
	membership.URLScheme:     "%s is neither http nor https." + wantURL,
	membership.URLUserinfo:   "%s holds a user name or password. Leave it out.",
	membership.URLNoHost:     "%s has no host." + wantURL,
	membership.URLHost:       "%s names neither an IP address nor a host name (letters, digits, dots, hyphens; no address zone)." + wantURL,
	membership.URLWildcard:   "%s is an address to listen on; no other machine can dial it. Give the URL at which others reach this member.",
	membership.URLNoPort:     "%s has no port, and etcd assumes none." + wantURL,
	membership.URLPort:       "%s has a port outside of 1 to 65535." + wantURL,
	membership.URLPath:       "%s has a path; etcd accepts none here." + wantURL,
	membership.URLQuery:      "%s has a query or a fragment; etcd accepts none here." + wantURL,
	membership.URLUnreadable: "%q cannot be read as a URL." + wantURL,
}

const wantURL = " Expected a scheme, a host and a port, such as https://10.0.0.1:2380."

func peerURLDetail(err *membership.URLError) string {
	return filled(cmp.Or(urlProblems[err.Problem], urlProblems[membership.URLUnreadable]), err.URL)
}

// MemberName returns the error for an invalid member name.
func MemberName(err *membership.NameError) Message {
	return Message{"Invalid member name", memberNameDetail(err)}
}

// nameProblems are formats of a name and its length.
var nameProblems = map[membership.NameProblem]string{
	membership.NameEmpty:     "The member name is empty. A member needs a name that no other member of its cluster bears.",
	membership.NameSeparator: "The member name %[1]q contains '=' or ',', which separate the entries of an initial cluster. Choose another name.",
	membership.NameLong:      "The member name has %[2]d bytes; at most 253 are taken. Choose a shorter name.",
	membership.NameAlphabet: "The member name %[1]q contains a character other than letters (a to z, A to Z), digits and . _ : @ %% + ~ -. " +
		"The join script and the data directory take no other. Choose another name.",
	membership.NameCharacter: "The member name %[1]q contains white space or a character that cannot be printed. Choose another name.",
}

func memberNameDetail(err *membership.NameError) string {
	return filled(cmp.Or(nameProblems[err.Problem], nameProblems[membership.NameCharacter]), err.Name, len(err.Name))
}

// InitialCluster returns the error for an error of [membership.ParseInitialCluster].
func InitialCluster(err *membership.EntryError) Message {
	detail := "Expected name=url, such as infra1=https://10.0.0.1:2380."
	var badURL *membership.URLError
	var badName *membership.NameError
	switch {
	case errors.Is(err, membership.ErrNoEntries):
		return New("Invalid initial cluster", "The initial cluster is empty. Expected name=url entries with commas between them.")
	case errors.Is(err, membership.ErrDuplicateURL):
		detail = "Its peer URL is in the list twice; each belongs to one member."
	case errors.As(err, &badURL):
		if shown, ok := membership.Shown(err.Entry); !ok || shown != err.Entry { // what is hidden may be in the URL
			badURL = &membership.URLError{URL: "The URL", Problem: badURL.Problem}
		}
		detail = peerURLDetail(badURL)
	case errors.As(err, &badName):
		detail = memberNameDetail(badName)
	}
	return New("Invalid initial cluster", "Entry %q: %s", err.Entry, own(detail))
}
