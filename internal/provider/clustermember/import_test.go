// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package clustermember

import (
	"context"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
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

// keptState is the private state.
type keptState map[string][]byte

func (p keptState) GetKey(_ context.Context, key string) ([]byte, diag.Diagnostics) {
	return p[key], nil
}

func (p keptState) SetKey(_ context.Context, key string, value []byte) diag.Diagnostics {
	p[key] = value
	return nil
}

// A refresh and a destroy trust the configured hosts, whatever the state has
// adopted from the cluster since.
func TestTrustedIsWhatWasConfigured(t *testing.T) {
	s := connection.Settings{Endpoints: []string{"https://a:2379"}, Username: "root", Password: "x"}
	r := &Resource{Resource: backend.Resource{Backend: &backend.Backend{Settings: s}}}
	plan := model{common: common{PeerURLs: attribute.SetOf([]string{"https://b:2380"})}}
	kept := keptState{}
	var diags diag.Diagnostics
	r.trust(t.Context(), kept, plan, attribute.SetOf([]string{"https://a:2379", "http://d:2379"}), &diags)
	if got := s.Trust(trusted(t.Context(), kept, &diags)); got != "b" || diags.HasError() {
		t.Errorf("kept: got %q, %v", got, diags)
	}
	if got := s.Trust(trusted(t.Context(), keptState{}, &diags)); got != "" {
		t.Errorf("imported: got %q", got)
	}
	if plan.sameURLs = true; plan.given() != nil {
		t.Errorf("URLs of the node: got %q", plan.given())
	}
}
