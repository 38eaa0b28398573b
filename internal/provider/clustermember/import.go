// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package clustermember

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/node"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// ImportState implements resource.ResourceWithImportState. The ID is a
// hexadecimal ID, a name, a peer URL or an identity.
func (r *Resource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	fail := func(t text.Message) { report.Error(&resp.Diagnostics, t) }
	wanted, cluster := req.ID, ""
	if wanted == "" {
		id := attribute.Read[identity](ctx, req.Identity, &resp.Diagnostics)
		wanted, cluster = id.MemberID.ValueString(), id.ClusterID.ValueString()
	}
	if resp.Diagnostics.HasError() {
		return
	}
	if r.Backend == nil || r.Backend.Unknown {
		fail(text.UnknownProvider("import member " + wanted))
		return
	}
	var snap membership.Snapshot
	c, err := r.Backend.Cluster(nil)
	if err == nil {
		snap, err = c.View(ctx, 0)
	}
	if want, bad := membership.ParseClusterID(cluster); err == nil && cluster != "" && (bad != nil || want != snap.ClusterID) {
		err = reconfigure.NewOtherCluster(want, snap)
	}
	if err != nil {
		fail(text.Explain(reconfigure.ActionImport, wanted, err))
		return
	}
	found := match(snap, wanted)
	switch {
	case len(found) != 1:
		fail(text.ImportNotFound(wanted, found, snap))
		return
	case found[0].Learner != (r.role == roleLearner):
		fail(text.ImportOtherRole(found[0].ID, snap))
		return
	}
	m := ofMember(ctx, r.role, snap, found[0], &resp.Diagnostics)
	resp.Diagnostics.Append(m.setIdentity(ctx, resp.Identity)...)
	resp.Diagnostics.Append(resp.State.Set(ctx, m.stored())...)
}

// ofMember returns the known attributes of a member that this provider did not create.
func ofMember(ctx context.Context, r role, snap membership.Snapshot, it membership.Member, diags *diag.Diagnostics) model {
	m := model{role: r, Promote: types.BoolValue(false), Failover: types.BoolValue(false), common: common{
		Name: types.StringNull(), Config: types.ObjectNull(node.ConfigTypes), MachineID: types.StringNull(),
		PeerURLs: attribute.SetOf(it.PeerURLs), Endpoints: types.ListNull(types.StringType),
		WaitUntil: types.StringNull(),
		Version:   types.StringNull(), InitialCluster: types.StringUnknown(),
		Timeouts: noTimeouts(),
	}}
	if it.Name != "" {
		m.Name = types.StringValue(it.Name)
	}
	m.fromJoined(ctx, reconfigure.Joined{
		Member: it, Answer: snap.Answer(it.ID), Cluster: snap.ClusterID, Members: snap.Members,
	}, diags)
	return m
}

// match returns the members that match a text: by ID, else by name, else by
// peer URL.
func match(snap membership.Snapshot, words string) []membership.Member {
	if found := snap.Find(words); len(found) > 0 {
		return found
	}
	return slices.DeleteFunc(slices.Clone(snap.Members), func(m membership.Member) bool {
		return !slices.ContainsFunc(m.PeerURLs, func(u string) bool { return membership.SameURLs([]string{u}, []string{words}) })
	})
}

func noTimeouts() timeouts.Value {
	return timeouts.Value{Object: types.ObjectNull(map[string]attr.Type{
		"create": types.StringType, "update": types.StringType, "delete": types.StringType,
	})}
}
