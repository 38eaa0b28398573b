// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/must"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// TestTexts compares the texts of etcd_cluster that are composed with testdata/texts.txt. UPDATE=1
// rewrites the file.
func TestTexts(t *testing.T) {
	got := ""
	silent := silence{Since: time.Date(2026, 11, 25, 9, 0, 0, 0, time.UTC), Evidence: "The evidence."}
	hostile := "d\n  rm -rf /"
	snap := membership.Snapshot{ClusterID: 0xabc, Members: []membership.Member{
		{ID: 0xa, Name: "a"}, {ID: 0xb, Name: "b", Learner: true}, {ID: 0xd, Name: hostile}, {ID: 0xe},
	}}
	for _, m := range []text.Message{
		unknownValues("the address of a"),
		silentMember("b", silent, 0), silentMember("b", silent, 10*time.Minute), silentMember(hostile, silence{Unseen: "https://10.0.1.10:2379: HTTP status 404 Not Found"}, 0),
		restoreRefused(membership.OtherConfirmed, "abc"),
		restoreRefused(membership.ConfirmationUnknown, "abc"),
		restoreRefused(membership.StillOnTheWay, "abc"),
		restoreRefused(membership.NamesMissing, "abc"),
		restoreRefused(membership.SnapshotUnknown, "abc"),
	} {
		got += m.Summary + "\n\n" + m.Detail + "\n\n----\n\n"
	}
	got += string(memberBlocks(snap)) + "\n\n----\n\n"
	for _, p := range []membership.NodesPlan{
		{},
		{Rebuilt: "a", Pending: []string{"b", "c"}, Reason: membership.NodesNext},
		{Rebuilt: "a", Reason: membership.NodesNext},
		{Pending: []string{"a"}, Reason: membership.NodesUnobserved},
		{Pending: []string{"a"}, Reason: membership.NodesUnobserved, Others: []string{"b", "c"}},
		{Pending: []string{"a"}, Reason: membership.NodesTooFew},
		{Pending: []string{"a"}, Reason: membership.NodesBelowQuorum, Votes: membership.Votes{Alive: 1, Quorum: 2}},
		{Pending: []string{"a"}, Reason: membership.NodesUnhealthy, Others: []string{"b"}},
		{Pending: []string{"a"}, Reason: membership.NodesURLsPending, Others: []string{"b"}},
		{Pending: []string{"a"}, Reason: membership.NodesOnTheWay, Others: []string{"b"}},
		{Pending: []string{"a"}, Reason: membership.NodesDeviate, Others: []string{"b"}},
		{Pending: []string{"a"}, Reason: membership.NodesVersionUnknown, Others: []string{"b"}},
		{Pending: []string{"a"}, Reason: membership.NodesUnsaved},
	} {
		got += fmt.Sprint(p.Reason, ": ") + reasonOf(p, true, false) + "\n"
	}
	got += reasonOf(membership.NodesPlan{Reason: membership.NodesUnobserved, Others: []string{"b"}}, false, false) + "\n"
	got += reasonOf(membership.NodesPlan{Reason: membership.NodesUnobserved}, false, true) + "\n"
	must.BeGolden(t, filepath.Join("testdata", "texts.txt"), got)
}

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
