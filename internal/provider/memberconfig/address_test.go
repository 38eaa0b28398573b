// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package memberconfig

import (
	"context"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

func set(values ...string) types.Set {
	elements := []attr.Value{}
	for _, v := range values {
		if v == "?" {
			elements = append(elements, types.StringUnknown())
			continue
		}
		elements = append(elements, types.StringValue(v))
	}
	return types.SetValueMust(types.StringType, elements)
}

func TestURLsFollow(t *testing.T) {
	none, unknown := types.SetNull(types.StringType), types.SetUnknown(types.StringType)
	no, open, text := types.StringNull(), types.StringUnknown(), types.StringValue
	for name, c := range map[string]struct {
		given          where
		peers, clients types.Set
	}{
		"an address":                      {where{text("10.0.1.10"), no, none, none}, set("https://10.0.1.10:2380"), set("https://10.0.1.10:2379")},
		"https written out":               {where{text("10.0.1.10"), text("https"), none, none}, set("https://10.0.1.10:2380"), set("https://10.0.1.10:2379")},
		"http":                            {where{text("10.0.1.10"), text("http"), none, none}, set("http://10.0.1.10:2380"), set("http://10.0.1.10:2379")},
		"an IPv6 address":                 {where{text("FD00::A"), no, none, none}, set("https://[fd00::a]:2380"), set("https://[fd00::a]:2379")},
		"a host name":                     {where{text("A.example.com"), no, none, none}, set("https://a.example.com:2380"), set("https://a.example.com:2379")},
		"an address and client URLs":      {where{text("10.0.1.10"), no, none, set("http://a:4001")}, set("https://10.0.1.10:2380"), set("http://a:4001")},
		"peer URLs":                       {where{no, no, set("http://10.0.1.10:12380"), none}, set("http://10.0.1.10:12380"), set("http://10.0.1.10:2379")},
		"peer URLs of several hosts":      {where{no, no, set("https://10.0.1.10:2380", "http://[fd00::a]:7001"), none}, set("https://10.0.1.10:2380", "http://[fd00::a]:7001"), set("https://10.0.1.10:2379", "http://[fd00::a]:2379")},
		"peer URLs of one host":           {where{no, no, set("https://a:2380", "https://A:7001"), none}, set("https://a:2380", "https://A:7001"), set("https://a:2379")},
		"peer URLs and client URLs":       {where{no, no, set("https://a:2380"), set("https://b:2379")}, set("https://a:2380"), set("https://b:2379")},
		"client URLs alone":               {where{no, no, none, set("https://b:2379")}, none, set("https://b:2379")},
		"nothing":                         {where{no, no, none, none}, none, none},
		"an unknown scheme alone":         {where{no, open, none, none}, none, none},
		"an unknown address":              {where{open, no, none, none}, unknown, unknown},
		"an unknown scheme":               {where{text("a"), open, none, none}, unknown, unknown},
		"an unknown address, client URLs": {where{open, no, none, set("https://b:2379")}, unknown, set("https://b:2379")},
		"unknown peer URLs":               {where{no, no, unknown, none}, unknown, unknown},
		"one unknown peer URL":            {where{no, no, set("https://a:2380", "?"), none}, set("https://a:2380", "?"), unknown},
		"unknown client URLs":             {where{text("a"), no, none, unknown}, set("https://a:2380"), unknown},
		"what the validators refuse":      {where{text("https://a"), no, none, none}, none, none},
		"peer URLs that they refuse":      {where{no, no, set("a:2380"), none}, set("a:2380"), none},
	} {
		if got := c.given.peers(); !got.Equal(c.peers) {
			t.Errorf("%s: the peer URLs are %s, want %s", name, got, c.peers)
		}
		if got := c.given.clients(); !got.Equal(c.clients) {
			t.Errorf("%s: the client URLs are %s, want %s", name, got, c.clients)
		}
	}
}

// The listen URLs follow from derived URLs as from given URLs.
func TestListenURLsFollow(t *testing.T) {
	for address, want := range map[string][2]string{
		"10.0.1.10":     {"https://10.0.1.10:2380", "https://10.0.1.10:2379"},
		"fd00::a":       {"https://[fd00::a]:2380", "https://[fd00::a]:2379"},
		"a.example.com": {"https://0.0.0.0:2380", "https://0.0.0.0:2379"},
	} {
		w := where{address: types.StringValue(address), peerURLs: types.SetNull(types.StringType), clientURLs: types.SetNull(types.StringType)}
		u := model{PeerURLs: w.peers(), ClientURLs: w.clients()}.urls()
		env := environment("a", u, true, nil, "", nil)
		if got := [2]string{env["ETCD_LISTEN_PEER_URLS"], env["ETCD_LISTEN_CLIENT_URLS"]}; got != want {
			t.Errorf("%s: listens at %q, want %q", address, got, want)
		}
	}
}

func TestAddressValidator(t *testing.T) {
	for value, valid := range map[string]bool{"10.0.1.10": true, "a.example.com": true, "fd00::a": true, "": false, "0.0.0.0": false, "a:2380": false, "https://a": false, "[fd00::a]": false} {
		resp := &validator.StringResponse{}
		addressValidator().ValidateString(context.Background(), validator.StringRequest{Path: path.Root("address"), ConfigValue: types.StringValue(value)}, resp)
		if resp.Diagnostics.HasError() == valid {
			t.Errorf("%q: %v", value, resp.Diagnostics)
		}
	}
}
