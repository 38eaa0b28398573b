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
	b.NoteFounding("founder3-1", "a", "one", []string{"a", "b", "c"})
	b.NoteFounding("awaiting3-2", "d", "one", []string{"a", "b", "c"})
	b.NoteFounding("awaiting2-3", "b", "two", []string{"x", "y"})
	for config, want := range map[string][]string{
		"founder3-1": {"b", "c"}, "awaiting3-2": {"b", "c"}, "awaiting2-3": {"x", "y"},
		"founder3-9": nil, // made by an earlier apply
		"":           nil,
	} {
		if got := b.MissingFounders(config); !slices.Equal(got, want) {
			t.Errorf("%q: %v are missing, want %v", config, got, want)
		}
	}
	b.NoteFounding("founder3-4", "b", "one", []string{"a", "b", "c"})
	b.NoteFounding("founder3-5", "c", "one", []string{"a", "b", "c"})
	if got := b.MissingFounders("founder3-1"); got != nil {
		t.Errorf("%v are missing of those that are made", got)
	}
}
