// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"crypto/rand"
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
)

const someSHA256 = "ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef0123456789"

func restoring(bump attr.Value, mark attr.Value) types.Object {
	return types.ObjectValueMust(attribute.TypesOf(restoreAttribute().Attributes), map[string]attr.Value{
		"snapshot": types.StringValue("/s.db"), "sha256": types.StringValue(someSHA256), "revision_bump": bump, "mark_compacted": mark,
		"replaces_cluster": types.StringNull(), "gone": types.SetNull(types.StringType),
	})
}

// Only the nodes that form the cluster restore the snapshot. A node that is rebuilt or
// added later joins, and must never start with the snapshot.
func TestOnlyInitialNodesRestore(t *testing.T) {
	t.Parallel()
	var diags diag.Diagnostics
	want := map[string]wanted{}
	for _, name := range []string{"a", "b"} {
		want[name] = wanted{NodeValues: membership.NodeValues{PeerURLs: []string{"https://" + name + ":2380"}}}
	}
	for bump, value := range map[attr.Value]string{types.Int64Null(): "", types.Int64Value(0): "", types.Int64Value(7): "7"} {
		m := model{Restore: restoring(bump, types.BoolValue(value != ""))}
		f := m.formationOf(t.Context(), want, "token", &diags)
		b := builder{run: &backend.Run{Random: rand.Reader}, now: time.Unix(0, 0), formation: f}
		for _, initial := range []bool{true, false} {
			n := b.build(t.Context(), "a", want["a"].NodeValues, nil, initial, false, &diags)
			env := attribute.TextsByKey(n.Environment)
			script, snapshot, sum, increase := joinscript.Static(), "", "", ""
			if initial {
				script, snapshot, sum, increase = joinscript.Restore(), "/s.db", strings.ToLower(someSHA256), value
			}
			if n.JoinScriptBase64Gzip.ValueString() != script.Base64Gzip {
				t.Errorf("initial %v: another join script", initial)
			}
			if env[joinscript.RestoreVariable] != snapshot || env[joinscript.RestoreSHA256Variable] != sum || env[joinscript.RestoreBumpVariable] != increase {
				t.Errorf("initial %v: %v", initial, env)
			}
		}
	}
	if f := (model{Restore: noRestore()}).formationOf(t.Context(), want, "token", &diags); f.restores || len(f.variables) != 2 {
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
