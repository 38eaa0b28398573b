// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// TestSilence: a silence lasts only as long as one leader counts it with its clock, and
// hears nothing.
func TestSilence(t *testing.T) {
	begin := time.Unix(1000, 0)
	was := silence{}.next(silence{Leader: 1, Term: 2, Bytes: 3}, begin)
	for name, tt := range map[string]struct {
		now   silence
		after time.Duration
		want  time.Duration
	}{
		"it lasts":           {silence{Leader: 1, Term: 2, Bytes: 3}, time.Hour, time.Hour},
		"another leader":     {silence{Leader: 4, Term: 3, Bytes: 3}, time.Hour, 0},
		"another term":       {silence{Leader: 1, Term: 3, Bytes: 3}, time.Hour, 0},
		"it came back":       {silence{Leader: 1, Term: 2, Bytes: 4}, time.Hour, 0},
		"the counters began": {silence{Leader: 1, Term: 2}, time.Hour, 0},
		"a clock set back":   {silence{Leader: 1, Term: 2, Bytes: 3}, -time.Hour, 0},
	} {
		if got := was.next(tt.now, begin.Add(tt.after)); got.For != tt.want || got.Since != begin.Add(tt.after-tt.want) {
			t.Errorf("%s: %v since %v, want %v", name, got.For, got.Since, tt.want)
		}
	}
}

// TestWaiting: the plan shows a silence whose time is not over, so that an apply stores it.
func TestWaiting(t *testing.T) {
	h := health{NodesHealth: membership.NodesHealth{Members: []membership.NodeHealth{{Name: "a", Status: membership.NodeVoter}, {Name: "b", Status: membership.NodeUnreachable}}}}
	for name, tt := range map[string]struct {
		seen  silence
		after time.Duration
		want  int
	}{
		"silent":        {silence{Since: time.Unix(1, 0)}, time.Minute, 1},
		"no argument":   {silence{Since: time.Unix(1, 0)}, 0, 0},
		"not confirmed": {silence{}, time.Minute, 0},
		"not seen":      {silence{Since: time.Unix(1, 0), Unseen: "why"}, time.Minute, 0},
	} {
		h.Silent = map[string]silence{"b": tt.seen}
		if names, reason := h.waiting(tt.after); len(names) != tt.want || (reason != "") != (tt.want > 0) {
			t.Errorf("%s: %q, %q", name, names, reason)
		}
	}
}
