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

// A static bootstrap is never replaced, but by a snapshot whose restore confirms
// that the cluster is lost. That its cluster has formed shows when the cluster
// answers; that it has not formed shows nowhere. An initial member
// without a quorum of the others accepts connections and answers nothing, as
// one of a cluster that has lost its quorum; one that is refused may have lost
// its power a minute ago; and where another cluster answers, this one may have
// been there before.

const (
	// keyRemoval tells Delete whether the plan removes the resource (true) or
	// replaces it (false).
	keyRemoval = "removal"
	// keyRecord holds the [record] of the bootstrap that is in the state.
	keyRecord = "record"
	// keyAbandoned tells Delete that a snapshot takes the place of the cluster.
	keyAbandoned = "abandoned"
)

// record is the bootstrap that the first plan of a resource finds in the state,
// left in the private data for the second plan of a replacement, which is made
// without a prior state. A taint leaves none, nor does the creation at apply:
// they look like a first creation.
type record struct {
	ClusterID string              `json:"cluster_id"`
	Formed    bool                `json:"complete"`
	Members   map[string][]string `json:"members"`
	Token     string              `json:"token"`
	// Replaced is the cluster whose place this one has taken, "" for none.
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

// refuseReplacement refuses to replace a bootstrap, and says what is known of
// its cluster.
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

// refuseExisting refuses to create a bootstrap where a cluster answers, unless
// it is the one that the arguments describe, or the one that is abandoned. A taint
// and a lost state look like a first creation.
func (r *clusterResource) refuseExisting(ctx context.Context, plan model, abandoned membership.ClusterID, diags *diag.Diagnostics) {
	if r.backend == nil || r.backend.Unknown || diags.HasError() {
		return
	}
	want, _ := membership.ParseClusterID(plan.ClusterID.ValueString()) // 0 while it is not known
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
