// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package initialcluster

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/bootstrap"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// ImportState implements [resource.ResourceWithImportState]. The ID is the ID
// of a cluster, which must respond.
func (r *clusterResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	id, err := membership.ParseClusterID(req.ID)
	switch {
	case err != nil:
		report.Error(&resp.Diagnostics, text.ImportClusterID(req.ID))
		return
	case r.backend.Unknown:
		report.Error(&resp.Diagnostics, text.UnknownProvider("import cluster "+id.String()))
		return
	}
	snap, err := r.look(ctx, r.backend, id, true)
	switch {
	case err != nil:
		report.Error(&resp.Diagnostics, text.ImportClusterSilent(id.String(), err))
		return
	case snap.ClusterID != id:
		report.Error(&resp.Diagnostics, text.ImportOtherCluster(id.String(), snap))
		return
	}
	m, diags := imported(ctx, snap)
	resp.Diagnostics.Append(diags...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// imported returns the bootstrap of an existing cluster. How it was
// bootstrapped cannot be read back, but its arguments must not be null:
// Terraform accepts a plan that keeps a prior value instead of the configured
// value, but not a plan that keeps a null value. So members are the present
// members, and the token is empty.
func imported(ctx context.Context, snap membership.Snapshot) (model, diag.Diagnostics) {
	members := map[string][]string{}
	for _, member := range snap.Members {
		if member.Name != "" && !member.Learner {
			members[member.Name] = member.PeerURLs
		}
	}
	m := model{
		ClusterToken: types.StringValue(""), InitialCluster: types.StringNull(), ClusterID: types.StringValue(snap.ClusterID.String()),
		MemberIDs: types.MapNull(types.StringType), Complete: types.BoolValue(true), Window: types.StringValue(defaultWindow),
		Restore: types.ObjectNull(attribute.TypesOf(restoreAttribute().Attributes)),
	}
	var diags diag.Diagnostics
	m.Members, diags = types.MapValueFrom(ctx, types.SetType{ElemType: types.StringType}, members)
	m.Bootstrap = bootstrap.Bootstrap{
		Protocol: types.StringValue(bootstrap.ProtocolStatic),
		Token:    m.ClusterToken, Complete: m.Complete, ClusterID: m.ClusterID, Window: m.Window,
		Founders: types.SetNull(types.StringType), Environment: types.MapValueMust(types.StringType, map[string]attr.Value{}),
		RegistryEndpoints: types.ListNull(types.StringType),
	}.Object()
	return m, diags
}
