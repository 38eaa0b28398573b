// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package backend

import (
	"slices"
	"testing"
)

func TestMissingFounders(t *testing.T) {
	b := &Backend{}
	if got := b.MissingFounders("x"); got != nil {
		t.Errorf("before anything is made %v are missing", got)
	}
	b.Configured.Set("founder3-1", Configured{Name: "a", Token: "one", Founders: []string{"a", "b", "c"}})
	b.Configured.Set("awaiting3-2", Configured{Name: "d", Token: "one", Founders: []string{"a", "b", "c"}})
	b.Configured.Set("awaiting2-3", Configured{Name: "b", Token: "two", Founders: []string{"x", "y"}})
	for config, want := range map[string][]string{
		"founder3-1": {"b", "c"}, "awaiting3-2": {"b", "c"}, "awaiting2-3": {"x", "y"},
		"founder3-9": nil, // made by an earlier apply
		"":           nil,
	} {
		if got := b.MissingFounders(config); !slices.Equal(got, want) {
			t.Errorf("%q: %v are missing, want %v", config, got, want)
		}
	}
	b.Configured.Set("founder3-4", Configured{Name: "b", Token: "one", Founders: []string{"a", "b", "c"}})
	b.Configured.Set("founder3-5", Configured{Name: "c", Token: "one", Founders: []string{"a", "b", "c"}})
	if got := b.MissingFounders("founder3-1"); got != nil {
		t.Errorf("%v are missing of those that are made", got)
	}
}
