// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package claim

import (
	"slices"
	"testing"
)

// While an event is translated, which may ask a server, the other watches go on.
// An event that another watch has delivered in the meantime is not delivered again.
func TestRelayDoesNotWaitForAServer(t *testing.T) {
	t.Parallel()
	var got []string
	r := &relay{last: 4, emit: func(e Event) { got = append(got, e.Name) }}
	named := func(name string) func() Event { return func() Event { return Event{Name: name} } }
	r.pass(5, "a", func() Event {
		if !r.mu.TryLock() {
			t.Error("the other watches wait")
			return Event{Name: "a"}
		}
		r.mu.Unlock()
		r.pass(5, "a", named("a"))
		r.pass(5, "b", named("b"))
		r.pass(6, "c", named("c"))
		return Event{Name: "a"}
	})
	r.pass(5, "b", named("b"))
	r.pass(7, "d", named("d"))
	if want := []string{"a", "b", "c", "d"}; !slices.Equal(got, want) || r.next() != 7 {
		t.Errorf("events: %q, next %d; want %q", got, r.next(), want)
	}
}
