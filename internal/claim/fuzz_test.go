// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package claim

import (
	"encoding/json"
	"testing"
)

func FuzzHolderOf(f *testing.F) {
	f.Add(`{"who":"alice@ops1","pid":12,"run":"x","since":"2026-11-21T01:02:03Z","doing":"add member e"}`)
	f.Add(`{"pid":-1e999}`)
	f.Add("a UUID of somebody's own")
	f.Fuzz(func(t *testing.T, value string) {
		h := HolderOf(Entry{Value: value})
		text, err := json.Marshal(h)
		if err != nil {
			t.Fatalf("HolderOf(%q) = %+v: %v", value, h, err)
		}
		if again := HolderOf(Entry{Value: string(text)}); again.Who != h.Who || again.Doing != h.Doing || !again.Since.Equal(h.Since) {
			t.Fatalf("HolderOf(%q) = %+v, and of that %+v", value, h, again)
		}
	})
}
