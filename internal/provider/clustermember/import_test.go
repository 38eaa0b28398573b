// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package clustermember

import (
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

func TestMatch(t *testing.T) {
	members := []membership.Member{
		{ID: 0xa, Name: "b", PeerURLs: []string{"http://10.0.0.1:2380"}},
		{ID: 0xb0, Name: "a", PeerURLs: []string{"http://10.0.0.2:2380", "http://two.example.com:2380"}},
		{ID: 0xc0, PeerURLs: []string{"http://10.0.0.3:2380"}},
		{ID: 0xd0, Name: "twin", PeerURLs: []string{"http://10.0.0.4:2380"}},
		{ID: 0xe0, Name: "twin", PeerURLs: []string{"http://10.0.0.5:2380"}},
	}
	for text, want := range map[string][]membership.MemberID{
		"b0":                           {0xb0},
		"B0":                           {0xb0},
		"a":                            {0xa}, // the ID, not the name
		"b":                            {0xa},
		"twin":                         {0xd0, 0xe0},
		"http://10.0.0.3:2380":         {0xc0},
		"HTTP://TWO.example.com:2380/": {0xb0},
		"c":                            nil,
		"":                             nil,
	} {
		got := match(membership.Snapshot{Members: members}, text)
		ok := len(got) == len(want)
		for i := range want {
			ok = ok && got[i].ID == want[i]
		}
		if !ok {
			t.Errorf("%q means %v, want %v", text, got, want)
		}
	}
}
