// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"errors"
	"testing"
)

// The IDs are those of TestComputeIDsAsServersDo, which running servers gave.
func TestFounders(t *testing.T) {
	initial := map[string][]string{
		"c": {" http://127.0.0.1:23803/ "},
		"a": {"HTTP://127.0.0.1:23801"},
		"b": {"http://localhost:23812", "http://127.0.0.1:23802"},
	}
	text, err := InitialClusterOf(initial)
	want := "a=http://127.0.0.1:23801,b=http://127.0.0.1:23802,b=http://localhost:23812,c=http://127.0.0.1:23803"
	if err != nil || text != want {
		t.Errorf("InitialClusterOf = %s, %v\nwant %s", text, err, want)
	}
	if _, id, err := InitialMemberIDs(initial, "tok-1"); err != nil || id.String() != "2718c185704f1b71" {
		t.Errorf("InitialMemberIDs = %s, %v", id, err)
	}
	if id, err := InitialMemberID(initial["c"], "tok-1"); err != nil || id.String() != "af92976edcf7c038" {
		t.Errorf("InitialMemberID = %s, %v", id, err)
	}
	if a, _ := InitialMemberID([]string{"http://Host:1"}, ""); a == 0 {
		t.Error("no ID")
	} else if b, _ := InitialMemberID([]string{"http://host:1"}, ""); a == b {
		t.Error("the spelling of a host does not count, and etcd lets it count")
	}
}

func TestFounderErrors(t *testing.T) {
	for _, tt := range []struct {
		initial     map[string][]string
		entry, want string
	}{
		{nil, "", "no entries"},
		{map[string][]string{"a": nil}, "a", "want name=url"},
		{map[string][]string{"a=b": {"http://h:1"}}, "a=b", `member name "a=b": separator`},
		{map[string][]string{"": {"http://h:1"}}, "", `member name "": empty`},
		{map[string][]string{"a": {"h:1"}}, "a=h:1", `peer URL "h:1": no scheme`},
		{map[string][]string{"a": {"http://h:1"}, "b": {"http://H:1"}}, "b=http://H:1", "the peer URL is in the list twice"},
		{map[string][]string{"a": {"http://h:1,b=http://h:2"}}, "a=http://h:1,b=http://h:2", `peer URL "http://h:1,b=http://h:2": unreadable`},
	} {
		_, err := InitialClusterOf(tt.initial)
		var e *EntryError
		if !errors.As(err, &e) || e.Entry != tt.entry || e.Err.Error() != tt.want {
			t.Errorf("InitialClusterOf(%q) = %v, want %q for entry %q", tt.initial, err, tt.want, tt.entry)
		}
		if _, _, err := InitialMemberIDs(tt.initial, ""); err == nil {
			t.Errorf("%q form a cluster", tt.initial)
		}
	}
	for _, urls := range [][]string{nil, {""}, {"http://h"}} {
		var e *URLError
		if id, err := InitialMemberID(urls, "t"); !errors.As(err, &e) {
			t.Errorf("InitialMemberID(%q) = %s, %v", urls, id, err)
		}
	}
}
