// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"errors"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

const want = " Expected a scheme, a host and a port, such as https://10.0.0.1:2380."

func TestPeerURL(t *testing.T) {
	for raw, text := range map[string]string{
		"":                                "The URL is empty." + want,
		"10.0.0.1:2380":                   "10.0.0.1:2380 has no scheme." + want,
		"unix://10.0.0.1:2380":            "unix://10.0.0.1:2380 is neither http nor https." + want,
		"https://root:secret@infra1:2380": "https://***@infra1:2380 holds a user name or password. Leave it out.",
		"https://:2380":                   "https://:2380 has no host." + want,
		"https://a,b:2380":                "https://a,b:2380 names neither an IP address nor a host name (letters, digits, dots, hyphens; no address zone)." + want,
		"https://0.0.0.0:2380":            "https://0.0.0.0:2380 is an address to listen on; no other machine can dial it. Give the URL at which others reach this member.",
		"https://infra1":                  "https://infra1 has no port, and etcd assumes none." + want,
		"https://infra1:99999":            "https://infra1:99999 has a port outside of 1 to 65535." + want,
		"https://infra1:2380/members":     "https://infra1:2380/members has a path; etcd accepts none here." + want,
		"https://infra1:2380?a=b":         "https://infra1:2380?*** has a query or a fragment; etcd accepts none here." + want,
		"https://infra1:port":             "\"https://infra1:port\" cannot be read as a URL." + want,
	} {
		_, err := membership.NormalizeURL(raw)
		var e *membership.URLError
		if !errors.As(err, &e) {
			t.Errorf("%q: %v", raw, err)
			continue
		}
		if got := PeerURL(e); got != (Message{"Invalid peer URL", text}) {
			t.Errorf("%q:\ngot  %s\nwant %s", raw, got.Detail, text)
		}
	}
}

func TestInvalidAddress(t *testing.T) {
	const expected = " Expected an IP address or a host name without scheme, port and brackets, such as 10.0.1.10 or fd00::a. Use peer_urls for another port."
	for raw, text := range map[string]string{
		"":              "The address is empty." + expected,
		"10.0.0.1:2380": "\"10.0.0.1:2380\" is neither an IP address nor a host name." + expected,
		"root:secret@a": "\"***@a\" is neither an IP address nor a host name." + expected,
		"::":            ":: is an address to listen on. No other machine can dial it. Give the address at which others reach this member.",
	} {
		_, err := membership.URLAt("https", raw, membership.PeerPort)
		var e *membership.URLError
		if !errors.As(err, &e) {
			t.Errorf("%q: %v", raw, err)
			continue
		}
		if got := InvalidAddress(e); got != (Message{"Invalid address", text}) {
			t.Errorf("%q:\ngot  %s\nwant %s", raw, got.Detail, text)
		}
	}
}

func TestMemberName(t *testing.T) {
	for name, text := range map[string]string{
		"":                       "The member name is empty. A member needs a name that no other member of its cluster bears.",
		"a=b":                    "The member name \"a=b\" contains '=' or ',', which separate the entries of an initial cluster. Choose another name.",
		"a b":                    "The member name \"a b\" contains white space or a character that cannot be printed. Choose another name.",
		"../x":                   "The member name \"../x\" contains a character other than letters (a to z, A to Z), digits and . _ : @ % + ~ -. The join script and the data directory take no other. Choose another name.",
		strings.Repeat("a", 300): "The member name has 300 bytes; at most 253 are taken. Choose a shorter name.",
	} {
		var e *membership.NameError
		if err := membership.ValidateName(name); !errors.As(err, &e) {
			t.Errorf("%q: %v", name, err)
			continue
		}
		if got := MemberName(e); got != (Message{"Invalid member name", text}) {
			t.Errorf("%q:\ngot  %s\nwant %s", name, got.Detail, text)
		}
	}
}

func TestInitialCluster(t *testing.T) {
	for s, text := range map[string]string{
		"":                          "The initial cluster is empty. Expected name=url entries with commas between them.",
		"a":                         "Entry \"a\": Expected name=url, such as infra1=https://10.0.0.1:2380.",
		"a=http://h:1,b=http://h:1": "Entry \"b=http://h:1\": Its peer URL is in the list twice; each belongs to one member.",
		"a=http://h:1,b=h:2":        "Entry \"b=h:2\": h:2 has no scheme." + want,
		"a=http://u:secret@h:1":     "Entry \"***@h:1\": http://***@h:1 holds a user name or password. Leave it out.",
		"=http://h:1":               "Entry \"=http://h:1\": The member name is empty. A member needs a name that no other member of its cluster bears.",
	} {
		_, err := membership.ParseInitialCluster(s)
		var e *membership.EntryError
		if !errors.As(err, &e) {
			t.Errorf("%q: %v", s, err)
			continue
		}
		if got := InitialCluster(e); got != (Message{"Invalid initial cluster", text}) {
			t.Errorf("%q:\ngot  %s\nwant %s", s, got.Detail, text)
		}
	}
}
