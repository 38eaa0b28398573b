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

// InvalidAddress returns the error for an invalid address of a member. err.URL
// is the address.
func InvalidAddress(err *membership.URLError) Message {
	const expected = " Expected an IP address or a host name without scheme, port and brackets, such as 10.0.1.10 or fd00::a. Use peer_urls for another port."
	t := Message{Summary: "Invalid address"}
	switch err.Problem {
	case membership.URLEmpty:
		t.Detail = "The address is empty." + expected
	case membership.URLWildcard:
		t.Detail = Clean(err.URL) + " is an address to listen on. No other machine can dial it. Give the address at which others reach this member."
	default:
		t.Detail = sprintf("%q is neither an IP address nor a host name.", err.URL) + expected
	}
	return t
}

// NullIn returns the error for a list or set of URLs with a null element.
var NullIn = of1[string]("Invalid URL in %[1]s",
	"%s has an element that is null. Leave the element out, or give the URL that it stands for.")

// TwiceIn returns the error for a duplicate URL in an argument, possibly in
// different spellings.
var TwiceIn = of2[string, string]("Duplicate URL in %[1]s",
	"%s contains %s twice. Leave one of them out.")

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
	return filled("", cmp.Or(urlProblems[err.Problem], urlProblems[membership.URLUnreadable]), err.URL).Detail
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
	return filled("", cmp.Or(nameProblems[err.Problem], nameProblems[membership.NameCharacter]), err.Name, len(err.Name)).Detail
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

// NameBesideConfig returns the error for a name in addition to a node.
var NameBesideConfig = of1[string]("Both config and name",
	"name = %q is set in addition to config, and the node has a name. Leave name out.")

// NoPeerURLs returns the error for a member with neither a node nor peer URLs.
var NoPeerURLs = of1[string]("Missing peer_urls",
	"name = %q is set without peer_urls. Give the URLs at which the other members reach it, such as [\"https://10.0.0.1:2380\"].\n"+
		"If it has a node of an etcd_cluster, leave name out. Set config, such as config = etcd_cluster.this.node[each.key].")

// PeerURLsBesideConfig returns the error for peer URLs in two places.
var PeerURLsBesideConfig = of1[string]("Peer URLs in two places",
	"peer_urls is set, and the node of %s has peer URLs as well. Leave peer_urls out here.\n"+
		"Where only the machine knows its address, leave it out in members of the etcd_cluster instead.")

// NoPeerURLsInConfig returns the error for a member whose node has no
// peer URLs.
var NoPeerURLsInConfig = of1[string]("Missing peer_urls",
	"The node of %s has no peer URLs. Give peer_urls here, from an attribute of the machine, such as [\"https://${example_vm.node[each.key].ip}:2380\"].\n"+
		"If the address is known before the machine, give it to members of the etcd_cluster instead.")

// NullPeerURL returns the error for a null among the peer URLs of a member.
var NullPeerURL = of1[string]("Invalid peer URL",
	"Member %s has a peer URL that is null. Give a URL, or leave the member out.")

// EnvironmentName returns the error for an invalid variable name.
var EnvironmentName = of1[string]("Invalid name of a variable",
	"%q cannot be the name of a variable: expected letters, digits and \"_\", and no digit first, such as ETCD_NAME.")

// EnvironmentValue returns the error for a value that must not become part of
// user data. The message omits the value, which may be a secret.
var EnvironmentValue = of2[string, rune]("Invalid value of a variable",
	"The value of %[1]s holds the character %[2]U. User data must not hold control characters and line breaks, because they can end a value there. "+
		"Remove the character from the argument that sets %[1]s.")

// NoVoters returns the error for a number of voters below one.
var NoVoters = of1[int64]("Invalid number of voters",
	"A cluster has at least one voter; %d was given.")

// LoopbackInitialMember returns the error for an initial member with a loopback URL
// if another member has none.
var LoopbackInitialMember = of3[string, string, string]("An initial member that the others cannot reach",
	"%[2]s of %[1]s can be reached on its own machine only, and %[3]s is elsewhere. Give the URL at which the others reach %[1]s.")
