// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"crypto/rand"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/joinscript"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

const someSHA256 = "ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef0123456789"

func restoring(bump attr.Value, mark attr.Value) types.Object {
	return types.ObjectValueMust(restoreTypes(), map[string]attr.Value{
		"snapshot": types.StringValue("/s.db"), "sha256": types.StringValue(someSHA256), "revision_bump": bump, "mark_compacted": mark,
		"replaces_cluster": types.StringNull(), "gone": types.SetNull(types.StringType),
	})
}

// Only the nodes that form the cluster restore the snapshot. A node that is rebuilt or
// added later joins, and must never start with the snapshot.
func TestOnlyInitialNodesRestore(t *testing.T) {
	t.Parallel()
	var diags diag.Diagnostics
	want, names := map[string]membership.NodeValues{"a": {PeerURLs: peerOf("a")}, "b": {PeerURLs: peerOf("b")}}, []string{"a", "b"}
	for bump, value := range map[attr.Value]string{types.Int64Null(): "", types.Int64Value(0): "", types.Int64Value(7): "7"} {
		m := model{Restore: restoring(bump, types.BoolValue(value != ""))}
		b := builder{run: &backend.Run{Random: rand.Reader}, now: time.Unix(0, 0), formation: m.formationOf(t.Context(), want, names, "token", &diags)}
		for _, b.initial = range [][]string{names, nil} {
			n := b.build(t.Context(), "a", want["a"], nil, &diags)
			env := attribute.TextsByKey(n.Environment)
			script, snapshot, sum, increase := joinscript.Static(), "", "", ""
			if b.initial != nil {
				script, snapshot, sum, increase = joinscript.Restore(), "/s.db", strings.ToLower(someSHA256), value
			}
			if n.JoinScriptBase64Gzip.ValueString() != script.Base64Gzip {
				t.Errorf("initial %v: another join script", b.initial)
			}
			if env[joinscript.RestoreVariable] != snapshot || env[joinscript.RestoreSHA256Variable] != sum || env[joinscript.RestoreBumpVariable] != increase {
				t.Errorf("initial %v: %v", b.initial, env)
			}
		}
	}
	if f := (model{}).formationOf(t.Context(), want, names, "token", &diags); f.restores || len(f.variables) != 2 {
		t.Errorf("without restore: %+v", f)
	}
	if diags.HasError() {
		t.Error(diags)
	}
}

// etcdutl takes an increased revision and the mark together, or neither.
func TestRestoreBump(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		bump    attr.Value
		mark    attr.Value
		invalid bool
	}{
		{types.Int64Null(), types.BoolNull(), false},
		{types.Int64Value(0), types.BoolValue(false), false},
		{types.Int64Value(7), types.BoolValue(true), false},
		{types.Int64Value(7), types.BoolNull(), true},
		{types.Int64Null(), types.BoolValue(true), true},
		{types.Int64Unknown(), types.BoolValue(true), false},
		{types.Int64Value(7), types.BoolUnknown(), false},
	} {
		var diags diag.Diagnostics
		attribute.As[restore](t.Context(), restoring(c.bump, c.mark), &diags).validate(&diags)
		if diags.HasError() != c.invalid {
			t.Errorf("%v %v: %v", c.bump, c.mark, diags)
		}
	}
}

func TestSnapshotProblem(t *testing.T) {
	t.Parallel()
	for value, valid := range map[string]bool{
		"/var/s.db": true, "https://h/s?sig=%20": true, "http://[fd00::1]:80/s": true,
		"s.db": false, "ftp://h/s": false, "https://": false, "https://u@h/s": false, "https://h/s#f": false, "https://h/a b": false, "/a\nb": false,
	} {
		if got := snapshotProblem(value); got == "" != valid {
			t.Errorf("%q: %q", value, got)
		}
	}
}

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
	got += string(text.MemberBlocks(snap)) + "\n\n----\n\n"
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
		got += fmt.Sprint(p.Reason, ": ") + nodesPlan{NodesPlan: p}.reason(true, false) + "\n"
	}
	got += nodesPlan{NodesPlan: membership.NodesPlan{Reason: membership.NodesUnobserved, Others: []string{"b"}}}.reason(false, false) + "\n"
	got += nodesPlan{NodesPlan: membership.NodesPlan{Reason: membership.NodesUnobserved}}.reason(false, true) + "\n"
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
