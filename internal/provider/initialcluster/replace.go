// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package initialcluster

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// A static bootstrap is replaced only by a restore that confirms that the
// cluster is lost. A response of the cluster proves that it has formed, but
// nothing proves that it has not. An initial member without a quorum accepts
// connections and does not respond, like a member of a cluster that has lost
// its quorum. A machine that refuses connections may have lost its power a
// minute ago. If another cluster responds, this cluster may have been there
// before.

const (
	// keyRemoval tells Delete whether the plan removes the resource (true) or
	// replaces it (false).
	keyRemoval = "removal"
	// keyRecord holds the [record] of the bootstrap that is in the state.
	keyRecord = "record"
	// keyAbandoned tells Delete that a restored snapshot replaces the cluster.
	keyAbandoned = "abandoned"
)

// record describes the bootstrap in the state. The first plan of a resource
// stores it in the private data for the second plan of a replacement, which has
// no prior state. A taint does not store a record, nor does the creation at
// apply: both look like a first creation.
type record struct {
	ClusterID string              `json:"cluster_id"`
	Formed    bool                `json:"complete"`
	Members   map[string][]string `json:"members"`
	Token     string              `json:"token"`
	// Replaced is the cluster that this cluster has replaced, "" if there is none.
	Replaced string `json:"replaced"`
}

func recordOf(ctx context.Context, m model, diags *diag.Diagnostics) record {
	members, _ := m.founders(ctx, diags)
	rec := record{ClusterID: m.ClusterID.ValueString(), Formed: m.Complete.ValueBool(), Members: members, Token: m.ClusterToken.ValueString()}
	if restored := restoreOf(ctx, m.Restore, diags); restored != nil {
		rec.Replaced = restored.ReplacesCluster.ValueString()
	}
	return rec
}

// refuseReplacement refuses to replace a bootstrap, and reports what is known
// about its cluster.
func (r *clusterResource) refuseReplacement(ctx context.Context, was record, diags *diag.Diagnostics) {
	why := "The configuration of the provider depends on values that are known after apply only, so the cluster cannot be asked."
	if !was.Formed && r.backend != nil && !r.backend.Unknown {
		id, err := membership.ParseClusterID(was.ClusterID)
		snap, lookErr := membership.Snapshot{}, err
		if err == nil {
			snap, lookErr = r.look(ctx, r.backend, id, true)
		}
		was.Formed = lookErr == nil && snap.ClusterID == id
		why = text.WhyNotFormed(snap, lookErr)
	}
	if was.Formed {
		report.Error(diags, text.InitialClusterFormed(was.ClusterID))
		return
	}
	report.Error(diags, text.InitialClusterMayHaveFormed(was.ClusterID, why, was.Members))
}

// refuseExisting refuses to create a bootstrap if a cluster responds, unless it
// is the cluster of the arguments or the abandoned cluster. A taint and a lost
// state look like a first creation.
func (r *clusterResource) refuseExisting(ctx context.Context, plan model, abandoned membership.ClusterID, diags *diag.Diagnostics) {
	if r.backend == nil || r.backend.Unknown || diags.HasError() {
		return
	}
	want, _ := membership.ParseClusterID(plan.ClusterID.ValueString()) // 0 if it is not known
	snap, err := r.look(ctx, r.backend, want, true)
	switch {
	case err == nil && snap.ClusterID == abandoned: // decided already
	case err == nil && snap.ClusterID != want:
		report.Error(diags, text.ClusterExists(snap))
	case err != nil && abandoned != 0: // decided already
	case err != nil && cluster.Answered(err):
		report.Error(diags, text.ClusterRefusesUs(err))
	}
}
