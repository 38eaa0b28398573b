// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package initialcluster

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/bootstrap"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/environment"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// model is the resource in Terraform's form: configuration, plan or state.
type model struct {
	Members        types.Map    `tfsdk:"members"`
	ClusterToken   types.String `tfsdk:"cluster_token"`
	InitialCluster types.String `tfsdk:"initial_cluster"`
	ClusterID      types.String `tfsdk:"cluster_id"`
	MemberIDs      types.Map    `tfsdk:"member_ids"`
	Complete       types.Bool   `tfsdk:"complete"`
	Window         types.String `tfsdk:"bootstrap_window"`
	Restore        types.Object `tfsdk:"restore"`
	Bootstrap      types.Object `tfsdk:"bootstrap"`
}

// founders returns the peer URLs by name, in the form that etcd_member_config
// writes. known is false if any name or URL is unknown.
func (m model) founders(ctx context.Context, diags *diag.Diagnostics) (founders map[string][]string, known bool) {
	if !attribute.IsGiven(m.Members) {
		return nil, false
	}
	var sets map[string]types.Set
	diags.Append(m.Members.ElementsAs(ctx, &sets, false)...)
	founders, known = map[string][]string{}, true
	for name, set := range sets {
		known = known && !attribute.SomeUnknown(set)
		founders[name] = attribute.NormalURLs(attribute.Texts(set))
	}
	return founders, known
}

// fromArguments sets the values derived from the members, the token, and whether
// the cluster has formed. A value derived from an unknown value is unknown.
func (m *model) fromArguments(ctx context.Context, diags *diag.Diagnostics) {
	m.InitialCluster, m.ClusterID = types.StringUnknown(), types.StringUnknown()
	m.MemberIDs = types.MapUnknown(types.StringType)
	boot := bootstrap.Bootstrap{
		Protocol: types.StringValue(bootstrap.ProtocolStatic),
		Token:    m.ClusterToken, Complete: m.Complete, ClusterID: types.StringUnknown(), Window: m.Window,
		Founders: types.SetUnknown(types.StringType), Size: types.Int64Unknown(), ReplacesCluster: types.StringNull(),
		Environment:       types.MapUnknown(types.StringType),
		RegistryEndpoints: types.ListNull(types.StringType),
	}
	restored := restoreOf(ctx, m.Restore, diags)
	switch {
	case m.Restore.IsUnknown():
		boot.ReplacesCluster = types.StringUnknown()
	case restored != nil:
		boot.ReplacesCluster = restored.ReplacesCluster
	}
	founders, known := m.founders(ctx, diags)
	if founders != nil {
		boot.Founders, boot.Size = attribute.SetOf(names(founders)), types.Int64Value(int64(len(founders)))
	}
	if known && !m.Restore.IsUnknown() {
		m.fromFounders(ctx, founders, restored, &boot, diags)
	}
	m.Bootstrap = boot.Object()
}

// fromFounders sets the values derived from members that are all known.
func (m *model) fromFounders(ctx context.Context, founders map[string][]string, restored *restore, boot *bootstrap.Bootstrap, diags *diag.Diagnostics) {
	initial, err := membership.InitialClusterOf(founders)
	if bad, ok := errors.AsType[*membership.EntryError](err); ok {
		report.ErrorOn(diags, "members", text.InitialCluster(bad))
		return
	}
	m.InitialCluster = types.StringValue(initial)
	variables, unknown := restored.variables()
	variables["ETCD_INITIAL_CLUSTER"] = initial
	if m.ClusterToken.IsUnknown() {
		unknown = append(unknown, "ETCD_INITIAL_CLUSTER_TOKEN")
	} else {
		variables["ETCD_INITIAL_CLUSTER_TOKEN"] = m.ClusterToken.ValueString()
	}
	// The configurations compare their own arguments with it.
	planned, d := environment.Planned(ctx, variables, unknown...)
	boot.Environment = planned
	diags.Append(d...)
	if m.ClusterToken.IsUnknown() {
		return
	}
	token := m.ClusterToken.ValueString()
	members, cluster, err := membership.FoundedIDs(founders, token)
	if err != nil {
		diags.AddError("Invalid founder", err.Error())
		return
	}
	ids := map[string]attr.Value{}
	for name, id := range members {
		ids[name] = types.StringValue(id.String())
	}
	m.MemberIDs = types.MapValueMust(types.StringType, ids)
	m.ClusterID = types.StringValue(cluster.String())
	boot.ClusterID = m.ClusterID
}
