// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package memberconfig

import (
	"context"
	"errors"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/bootstrap"
	variables "github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/environment"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/userdata"
)

// ImportState implements resource.ResourceWithImportState. The ID is the name of a
// member in the cluster. The configuration has the role of a new member, as it will
// be when its machine is replaced; the present machine does not change.
func (r *Resource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	fail := func(t text.Message) { report.Error(&resp.Diagnostics, t) }
	if r.backend == nil || r.backend.Unknown {
		fail(text.UnknownProvider("import member " + req.ID))
		return
	}
	c, err := r.backend.Cluster(nil)
	if err != nil {
		fail(text.Explain(reconfigure.ActionImport, req.ID, err))
		return
	}
	snap, err := c.Confirmed(ctx, 0, reconfigure.ActionImport, req.ID)
	if err != nil {
		fail(text.Explain(reconfigure.ActionImport, req.ID, err))
		return
	}
	i := slices.IndexFunc(snap.Members, func(m membership.Member) bool { return m.Name == req.ID && req.ID != "" })
	if i < 0 {
		fail(text.ImportNotFound(req.ID, nil, snap))
		return
	}
	id, err := recordedID(ctx, c, snap, snap.Members[i])
	if err != nil {
		fail(text.Explain(reconfigure.ActionImport, req.ID, err))
		return
	}
	m, err := importedModel(ctx, r.backend.Run, snap, snap.Members[i], id)
	var unfit text.Message
	if errors.As(err, &unfit) {
		fail(unfit)
		return
	}
	if err != nil {
		fail(text.Explain(reconfigure.ActionImport, req.ID, err))
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// recordedID returns the ID of the configuration in the member's ownership
// record, "" if there is none. If the configuration's state was lost, it keeps
// its ID, and its machine and its etcd_member do not change.
func recordedID(ctx context.Context, c *backend.Cluster, snap membership.Snapshot, it membership.Member) (string, error) {
	owners, err := c.Cluster.Records(snap.ClusterID).Owners(ctx, it.ID)
	if err != nil {
		return "", err
	}
	if i := slices.IndexFunc(owners, isID.MatchString); i >= 0 {
		return owners[i], nil
	}
	return "", nil
}

// importedModel returns the configuration with which the member would join now.
// id is the ID of its former configuration, "" if it is not known.
func importedModel(ctx context.Context, run *backend.Run, snap membership.Snapshot, it membership.Member, id string) (model, error) {
	if id == "" {
		var err error
		if id, err = newID(run.Random); err != nil {
			return model{}, err
		}
	}
	u := urls{peer: it.PeerURLs, client: it.ClientURLs}
	initial := membership.FormatInitialCluster(snap.Members)
	var peers []string
	for _, m := range snap.Members {
		if m.ID != it.ID {
			peers = append(peers, m.PeerURLs...)
		}
	}
	env, d := variables.Map(ctx, environment(it.Name, u, false, nil, initial, peers))
	if d.HasError() {
		return model{}, text.Message{Summary: d[0].Summary(), Detail: d[0].Detail()}
	}
	return model{
		ID: types.StringValue(id), Name: types.StringValue(it.Name),
		PeerURLs: attribute.SetOf(it.PeerURLs), ClientURLs: attribute.SetOf(it.ClientURLs),
		ListenPeerURLs: types.SetNull(types.StringType), ListenClientURLs: types.SetNull(types.StringType),
		Bootstrap: types.ObjectNull(bootstrap.AttrTypes()), TriggersReplace: types.DynamicNull(), JoinPeerURLs: types.SetNull(types.StringType), ReplaceUnreachableAfter: types.StringNull(),
		Founder: types.BoolValue(false), Founders: types.Int64Null(), Environment: env, InitialCluster: types.StringValue(initial),
		JoinScriptBase64Gzip: types.StringValue(scriptFor(nil).Base64Gzip), UserDataFormat: types.Int64Value(userdata.Format),
		Status: types.StringValue(statusMember),
	}, nil
}
