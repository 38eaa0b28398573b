// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package member

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/diag"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/memberconfig"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// ImportState implements resource.ResourceWithImportState: by hexadecimal ID,
// name, peer URL, or identity.
func (r *Member) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	m, ok := imported(ctx, r.backend, roleVoter, req, resp)
	if ok {
		resp.Diagnostics.Append(resp.State.Set(ctx, &memberModel{model: m, LearnerID: types.StringNull()})...)
	}
}

// ImportState implements resource.ResourceWithImportState, as for members.
func (r *Learner) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	m, ok := imported(ctx, r.backend, roleLearner, req, resp)
	if ok {
		resp.Diagnostics.Append(resp.State.Set(ctx, &learnerModel{model: m, Promote: types.BoolValue(false), Failover: types.BoolValue(false)})...)
	}
}

// imported finds the member and fills the model in. ok is false after an error.
func imported(ctx context.Context, b *backend.Backend, role string, req resource.ImportStateRequest, resp *resource.ImportStateResponse) (m model, ok bool) {
	fail := func(t diag.Text) (model, bool) {
		report.Error(&resp.Diagnostics, t)
		return model{}, false
	}
	wanted, cluster := req.ID, ""
	if wanted == "" {
		var id identity
		resp.Diagnostics.Append(req.Identity.Get(ctx, &id)...)
		wanted, cluster = id.MemberID.ValueString(), id.ClusterID.ValueString()
	}
	if resp.Diagnostics.HasError() {
		return model{}, false
	}
	if b == nil || b.Unknown {
		return fail(diag.UnknownProvider("import member " + wanted))
	}
	c, err := b.Cluster(nil)
	if err != nil {
		return fail(diag.Explain(reconfigure.ActionImport, wanted, err))
	}
	snap, err := c.View(ctx, 0)
	if err != nil {
		return fail(diag.Explain(reconfigure.ActionImport, wanted, err))
	}
	if want, err := membership.ParseClusterID(cluster); cluster != "" && (err != nil || want != snap.ClusterID) {
		return fail(diag.Explain(reconfigure.ActionImport, wanted, &reconfigure.OtherCluster{Want: want, Got: snap.ClusterID, Endpoints: endpointsOf(snap)}))
	}
	found := match(snap.Members, wanted)
	switch {
	case len(found) != 1:
		return fail(diag.ImportNotFound(wanted, found, snap))
	case found[0].Learner != (role == roleLearner):
		return fail(diag.ImportOtherRole(found[0].ID, snap))
	}
	m, diags := ofMember(ctx, snap, found[0])
	resp.Diagnostics.Append(diags...)
	resp.Diagnostics.Append(m.identify(ctx, resp.Identity)...)
	return m, !resp.Diagnostics.HasError()
}

// ofMember is what can be known of a member that nobody here has made.
func ofMember(ctx context.Context, snap membership.Snapshot, it membership.Member) (model, fwDiagnostics) {
	m := model{
		ID: types.StringValue(it.ID.String()), ClusterID: types.StringValue(snap.ClusterID.String()),
		Name: types.StringNull(), Config: types.ObjectNull(memberconfig.MemberTypes()), MachineID: types.StringNull(),
		Endpoints: types.ListNull(types.StringType), MaxLag: types.Int64Null(),
		WaitUntil: types.StringValue(waitVoting), StallTimeout: types.StringNull(), ForceDestroy: types.BoolNull(),
		Version: types.StringNull(), InitialCluster: types.StringUnknown(),
		Timeouts: noTimeouts(),
	}
	if it.Learner {
		m.WaitUntil = types.StringValue(waitCaughtUp)
	}
	if it.Name != "" {
		m.Name = types.StringValue(it.Name)
	}
	peers, diags := types.SetValueFrom(ctx, types.StringType, it.PeerURLs)
	m.PeerURLs = peers
	diags.Append(m.take(ctx, reconfigure.Joined{
		Member: it, Answer: snap.Answer(it.ID), Cluster: snap.ClusterID, Members: snap.Members,
	})...)
	return m, diags
}

// match finds the members that a text may mean: an ID before a name before a
// peer URL, so that a member named "a" and one with the ID a are told apart.
func match(members []membership.Member, text string) []membership.Member {
	for _, is := range []func(membership.Member) bool{
		func(m membership.Member) bool { return m.ID.String() == strings.ToLower(text) },
		func(m membership.Member) bool { return m.Name == text && text != "" },
		func(m membership.Member) bool {
			for _, u := range m.PeerURLs {
				if membership.SameURLs([]string{u}, []string{text}) {
					return true
				}
			}
			return false
		},
	} {
		var found []membership.Member
		for _, m := range members {
			if is(m) {
				found = append(found, m)
			}
		}
		if len(found) > 0 {
			return found
		}
	}
	return nil
}

func noTimeouts() timeouts.Value {
	return timeouts.Value{Object: types.ObjectNull(map[string]attr.Type{
		"create": types.StringType, "update": types.StringType, "delete": types.StringType,
	})}
}
