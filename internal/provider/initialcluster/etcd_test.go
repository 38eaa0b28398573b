// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package initialcluster

import (
	"strconv"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

func stringValue(s string) types.String { return types.StringValue(s) }

// The computed IDs are those of real clusters, on every version.
func TestIDsOfRealClusters(t *testing.T) {
	for _, v := range etcdtest.Versions() {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			c := etcdtest.Start(t, 3, etcdtest.Options{Version: v})
			sets := map[string]attr.Value{}
			for _, p := range c.Members() {
				sets[p.Name] = types.SetValueMust(types.StringType, []attr.Value{stringValue(p.PeerURL())})
			}
			m := model{
				Members:      types.MapValueMust(types.SetType{ElemType: types.StringType}, sets),
				ClusterToken: stringValue(c.Token()), Complete: types.BoolValue(false),
			}
			var diags diag.Diagnostics
			if m.fromArguments(t.Context(), &diags); diags.HasError() {
				t.Fatal(diags)
			}
			ctx := etcdtest.WaitContext(t)
			list, err := c.Client(t).MemberList(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if want := strconv.FormatUint(list.Header.ClusterId, 16); m.ClusterID.ValueString() != want {
				t.Errorf("the cluster is %s, want %s", m.ClusterID.ValueString(), want)
			}
			ids := m.MemberIDs.Elements()
			for _, member := range list.Members {
				if want := stringValue(strconv.FormatUint(member.ID, 16)); !ids[member.Name].Equal(want) {
					t.Errorf("%s is %s, want %s", member.Name, ids[member.Name], want)
				}
			}
		})
	}
}
