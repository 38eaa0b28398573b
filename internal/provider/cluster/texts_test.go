// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	port "github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// TestTexts compares every text of etcd_cluster with testdata/texts.txt. UPDATE=1
// rewrites the file.
func TestTexts(t *testing.T) {
	got := ""
	silent := silence{Since: time.Date(2026, 11, 25, 9, 0, 0, 0, time.UTC), Evidence: "The evidence."}
	hostile := "d\n  rm -rf /"
	snap := membership.Snapshot{ClusterID: 0xabc, Members: []membership.Member{
		{ID: 0xa, Name: "a", PeerURLs: []string{"https://10.0.1.10:2380"}, ClientURLs: []string{"https://10.0.1.10:2379"}},
		{ID: 0xb, Name: "b", PeerURLs: []string{"https://10.0.1.11:2380"}, ClientURLs: []string{"https://10.0.1.11:2379"}, Learner: true},
		{ID: 0xd, Name: hostile, PeerURLs: []string{"https://10.0.1.13:2380"}, ClientURLs: []string{"https://10.0.1.13:2379"}},
	}}
	for _, m := range []text.Message{
		running(snap),
		inState(0xabc), inState(0),
		noneToImport(0xabc),
		sameName("a", 0xa, 0xb),
		notImported(snap.Members[2:]),
		unclaimed([]membership.NodeHealth{{Name: "a", Member: 0xa}, {Name: hostile, Member: 0xd}}),
		unmanaged([]membership.NodeHealth{{Name: "a", Member: 0xa, Voter: true}, {Name: "d", Member: 0xd}}),
		anotherObject(port.ObjectRecord{Object: "cluster-a", By: "ada@ops1", Since: time.Date(2026, 11, 25, 9, 0, 0, 0, time.UTC)}, "cluster-b", "abc"),
		twoClusters([]string{"https://10.0.1.11:2380", "https://10.0.1.10:2380"}),
		answering(errors.New("permission denied")),
		unknownValues("the address of a"),
		wrongSize(3, 2),
		tokenComplete,
		anotherToken,
		noInitialMember,
		firstVersion([]string{"a", "b"}, "3.6.16", []string{"3.5.21", "3.6.1"}),
		stillAnswers(0xabc),
		takenBack([]string{"a"}),
		deadLearners([]string{"d", "e"}),
		deviating([]string{"a", "b"}),
		silentMember("b", silent, 0), silentMember("b", silent, 10*time.Minute), silentMember(hostile, silence{Unseen: "https://10.0.1.10:2379: HTTP status 404 Not Found"}, 0),
		notRestored("abc"),
		restoreRefused(membership.OtherConfirmed, "abc"),
		restoreRefused(membership.ConfirmationUnknown, "abc"),
		restoreRefused(membership.StillOnTheWay, "abc"),
		restoreRefused(membership.NamesMissing, "abc"),
		restoreRefused(membership.SnapshotUnknown, "abc"),
		restorePlanned(0xabc),
		withdrawalPlanned(0xdef, "abc"),
	} {
		got += m.Summary + "\n\n" + m.Detail + "\n\n----\n\n"
	}
	for _, p := range []membership.NodesPlan{
		{},
		{Rebuilt: "a", Pending: []string{"b", "c"}, Reason: membership.NodesNext},
		{Rebuilt: "a", Reason: membership.NodesNext},
		{Rebuilt: "a", Failed: true, Pending: []string{"b"}, Reason: membership.NodesNext},
		{Pending: []string{"a"}, Reason: membership.NodesUnobserved},
		{Pending: []string{"a"}, Reason: membership.NodesUnobserved, Others: []string{"b", "c"}},
		{Pending: []string{"a"}, Reason: membership.NodesTooFew},
		{Pending: []string{"a"}, Reason: membership.NodesBelowQuorum, Votes: membership.Votes{Alive: 1, Quorum: 2}},
		{Pending: []string{"a"}, Reason: membership.NodesUnhealthy, Others: []string{"b"}},
		{Pending: []string{"a"}, Reason: membership.NodesURLsPending, Others: []string{"b"}},
		{Pending: []string{"a"}, Reason: membership.NodesOnTheWay, Others: []string{"b"}},
		{Pending: []string{"a"}, Reason: membership.NodesDeviate, Others: []string{"b"}},
		{Pending: []string{"a"}, Reason: membership.NodesVersionUnknown, Others: []string{"b"}},
	} {
		m, say := rebuilding(p, reasonOf(p, true, false), "The evidence.")
		if say != (p.Rebuilt != "" || len(p.Pending) > 0) {
			t.Errorf("a warning for %+v: %t", p, say)
		}
		got += fmt.Sprint(p.Reason, ": ") + reasonOf(p, true, false) + "\n" + m.Summary + "\n\n" + m.Detail + "\n\n----\n\n"
	}
	got += reasonOf(membership.NodesPlan{Reason: membership.NodesUnobserved, Others: []string{"b"}}, false, false) + "\n"
	got += reasonOf(membership.NodesPlan{Reason: membership.NodesUnobserved}, false, true) + "\n"
	file := filepath.Join("testdata", "texts.txt")
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the texts differ from %s. If they should, run with UPDATE=1 and read the difference.\n%s", file, got)
	}
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
