// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package memberconfig

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/diag"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/bootstrap"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// ImportState implements resource.ResourceWithImportState: by the name of a
// member that is in the cluster. It becomes a joiner, which is what it will be
// when its machine is replaced; nothing about the present machine changes.
func (r *Resource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	fail := func(t diag.Text) { resp.Diagnostics.AddError(t.Summary, t.Detail) }
	if r.backend == nil || r.backend.Unknown {
		fail(diag.ImportUnknownProvider(req.ID))
		return
	}
	c, err := r.backend.Cluster(nil)
	if err != nil {
		fail(diag.Explain(reconfigure.ActionImport, req.ID, err))
		return
	}
	snap, err := c.View(ctx, 0)
	if err != nil {
		fail(diag.Explain(reconfigure.ActionImport, req.ID, err))
		return
	}
	i := slices.IndexFunc(snap.Members, func(m membership.Member) bool { return m.Name == req.ID && req.ID != "" })
	if i < 0 {
		fail(diag.ImportNotFound(req.ID, nil, snap))
		return
	}
	m, err := importedModel(ctx, snap, snap.Members[i])
	if err != nil {
		fail(diag.Explain(reconfigure.ActionImport, req.ID, err))
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// importedModel is the configuration with which the member would join now.
func importedModel(ctx context.Context, snap membership.Snapshot, it membership.Member) (model, error) {
	id, err := newID(plan{role: roleJoiner})
	if err != nil {
		return model{}, err
	}
	u := urls{peer: it.PeerURLs, client: it.ClientURLs}
	initial := membership.FormatInitialCluster(snap.Members)
	var peers []string
	for _, m := range snap.Members {
		if m.ID != it.ID {
			peers = append(peers, m.PeerURLs...)
		}
	}
	set := func(values []string) types.Set {
		s, _ := types.SetValueFrom(ctx, types.StringType, values) // strings always convert
		return s
	}
	env, _ := types.MapValueFrom(ctx, types.StringType, environment(it.Name, u, false, nil, initial, peers))
	return model{
		ID: types.StringValue(string(id)), Name: types.StringValue(it.Name),
		PeerURLs: set(it.PeerURLs), ClientURLs: set(it.ClientURLs),
		ListenPeerURLs: types.SetNull(types.StringType), ListenClientURLs: types.SetNull(types.StringType),
		Bootstrap: types.ObjectNull(bootstrap.AttrTypes()), TriggersReplace: types.DynamicNull(), Peers: types.SetNull(types.StringType), ReplaceLostAfter: types.StringNull(),
		Founder: types.BoolValue(false), Environment: env, InitialCluster: types.StringValue(initial),
		JoinScript: types.StringValue(script()),
		Status:     types.StringValue(statusMember),
	}, nil
}
