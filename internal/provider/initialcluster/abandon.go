// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package initialcluster

import (
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/private"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// restoreRequest returns the request of a configuration for the bootstrap in
// the state, was, which is nil if there is none.
func restoreRequest(ctx context.Context, config model, was *record, diags *diag.Diagnostics) membership.RestoreRequest {
	restored := restoreOf(ctx, config.Restore, diags)
	request := membership.RestoreRequest{InState: was != nil, Unknown: config.Restore.IsUnknown(), SnapshotKnown: restored.isKnown()}
	if restored != nil {
		request.Unknown = restored.ReplacesCluster.IsUnknown()
		request.Confirmed, _ = membership.ParseClusterID(restored.ReplacesCluster.ValueString())
	}
	if was == nil {
		return request
	}
	request.Cluster, _ = membership.ParseClusterID(was.ClusterID)
	request.Replaced, _ = membership.ParseClusterID(was.Replaced)
	token := config.ClusterToken
	request.SameToken = !token.IsNull() && !token.IsUnknown() && token.ValueString() == was.Token
	if founders, known := config.founders(ctx, diags); known && !token.IsNull() && !token.IsUnknown() {
		_, id, err := membership.FoundedIDs(founders, token.ValueString())
		request.SameToken = request.SameToken || err == nil && id == request.Cluster
	}
	return request
}

// planReplaced plans the replacement of the bootstrap in the state if a
// restored snapshot replaces its cluster.
func (r *clusterResource) planReplaced(ctx context.Context, config, prior model, resp *resource.ModifyPlanResponse) bool {
	was := recordOf(ctx, prior, &resp.Diagnostics)
	request := restoreRequest(ctx, config, &was, &resp.Diagnostics)
	gone := goneOf(ctx, config, &resp.Diagnostics)
	r.abandon(request.Replaced, gone)
	switch d := membership.DecideRestore(request); d.Verdict {
	case membership.Go:
		r.abandon(request.Confirmed, gone)
		resp.RequiresReplace = append(resp.RequiresReplace, path.Root("restore"))
		// Terraform does not show warnings of the second half of a replacement.
		warnRestore(ctx, config, slices.Sorted(maps.Keys(was.Members)), &resp.Diagnostics)
		return true
	case membership.Refuse:
		r.refuseRestore(d.Code, request, &resp.Diagnostics)
	}
	return false
}

// planAbandoned returns the cluster that the new bootstrap replaces, 0 if there
// is none. was is the bootstrap that was in the state, nil if there was none.
func (r *clusterResource) planAbandoned(ctx context.Context, config model, was *record, resp *resource.ModifyPlanResponse) membership.ClusterID {
	diags := &resp.Diagnostics
	request := restoreRequest(ctx, config, was, diags)
	d := membership.DecideRestore(request)
	private.Keep(ctx, resp.Private, keyAbandoned, d.Verdict == membership.Go, diags)
	switch {
	case d.Verdict == membership.Refuse:
		r.refuseRestore(d.Code, request, diags)
		return 0
	case d.Verdict != membership.Go:
		return 0
	}
	gone := goneOf(ctx, config, diags)
	private.Keep(ctx, resp.Private, backend.GoneKey, gone, diags)
	r.abandon(request.Confirmed, gone)
	if r.backend == nil || r.backend.Applying.Load() {
		return request.Confirmed
	}
	c, _ := r.backend.Cluster(nil) // nil without endpoints
	founders, _ := config.founders(ctx, diags)
	if was != nil {
		founders = was.Members
	}
	var members []membership.Member
	for _, name := range names(founders) {
		members = append(members, membership.Member{Name: name})
	}
	r.backend.GuardAbandon(ctx, c, request.Confirmed, members, diags)
	if was == nil {
		warnRestore(ctx, config, nil, diags)
	}
	return request.Confirmed
}

// warnRestore warns about what is lost if a restored snapshot replaces a
// cluster. names are the known members of that cluster.
func warnRestore(ctx context.Context, config model, names []string, diags *diag.Diagnostics) {
	restored := restoreOf(ctx, config.Restore, diags)
	report.WarnAt(diags, path.Root("restore"), text.RestorePlanned(restored.ReplacesCluster.ValueString(), names, restored.Revision.ValueInt64()))
}

// abandon notes an abandoned cluster, and those of its voters that the configuration
// states are gone, for the guards of the plan.
func (r *clusterResource) abandon(id membership.ClusterID, gone []string) {
	if r.backend != nil && id != 0 {
		r.backend.Plan.Abandoned.Set(id, gone)
	}
}

func goneOf(ctx context.Context, config model, diags *diag.Diagnostics) []string {
	if restored := restoreOf(ctx, config.Restore, diags); restored != nil {
		return attribute.Texts(restored.Gone)
	}
	return nil
}

func (r *clusterResource) refuseRestore(code membership.Code, request membership.RestoreRequest, diags *diag.Diagnostics) {
	state, confirmed := "", ""
	if request.Cluster != 0 {
		state = request.Cluster.String()
	}
	if request.Confirmed != 0 {
		confirmed = request.Confirmed.String()
	}
	report.ErrorOn(diags, "restore", text.RestoreRefused(code, state, confirmed))
}
