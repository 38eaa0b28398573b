// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package member

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	fwdiag "github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/diag"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// failoverKey is where Read leaves what it saw of lost voters, for the plan to
// go by: what is planned must come to the same when it is applied.
const failoverKey = "failover"

// lostVoters is what was seen of them; without evidence nothing was.
type lostVoters struct {
	Lost     []membership.MemberID `json:"lost"`
	Evidence string                `json:"evidence"`
}

type privateReader interface {
	GetKey(context.Context, string) ([]byte, fwdiag.Diagnostics)
}

// lostVotersOf reads what the last Read left.
func lostVotersOf(ctx context.Context, from privateReader) (l lostVoters) {
	raw, _ := from.GetKey(ctx, failoverKey)
	if json.Unmarshal(raw, &l) != nil {
		return lostVoters{}
	}
	return l
}

// lookForLost notes which voters are lost.
func (m learnerModel) lookForLost(ctx context.Context, b *backend.Backend, resp *resource.ReadResponse) {
	var seen lostVoters
	if m.Failover.ValueBool() && m.Role.ValueString() == roleLearner && !b.Unknown {
		seen = m.lost(ctx, b)
	}
	raw, err := json.Marshal(seen)
	if err != nil {
		resp.Diagnostics.AddError("Cannot keep what was seen", err.Error())
		return
	}
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, failoverKey, raw)...)
}

// lost looks from both sides, for as long as an election may take.
func (m learnerModel) lost(ctx context.Context, b *backend.Backend) lostVoters {
	c, _, err := m.reach(ctx, b)
	if err != nil {
		return lostVoters{}
	}
	_, id, diags := m.ids()
	if diags.HasError() {
		return lostVoters{}
	}
	var seen lostVoters
	c.WatchLoss(ctx, m.Name.ValueString(), func() (membership.Loss, time.Duration) {
		snap, err := c.View(ctx, id)
		if err != nil {
			return membership.Unreachable, 0 // said by the refresh
		}
		f := membership.JudgeFailover(snap, cluster.SeenByLeader(ctx, c.Port, snap, snap.Down()))
		switch {
		case len(f.Lost) > 0:
			seen = lostVoters{f.Lost, diag.FailoverEvidence(snap, f)}
			return membership.Vanished, 0
		case f.Unsettled:
			return membership.Unsettled, 0
		default:
			return membership.Present, 0
		}
	})
	return seen
}

// planFailover shows that a standby is to get a vote.
func planFailover(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() || req.State.Raw.IsNull() || resp.Diagnostics.HasError() {
		return
	}
	var failover, promote types.Bool
	var role, name types.String
	resp.Diagnostics.Append(req.Plan.GetAttribute(ctx, path.Root("failover"), &failover)...)
	resp.Diagnostics.Append(req.Plan.GetAttribute(ctx, path.Root("promote"), &promote)...)
	resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("role"), &role)...)
	resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("name"), &name)...)
	evidence := lostVotersOf(ctx, req.Private).Evidence
	if resp.Diagnostics.HasError() || evidence == "" ||
		!failover.ValueBool() || promote.ValueBool() || role.ValueString() != roleLearner {
		return
	}
	planPromotion(ctx, resp)
	report.Warn(&resp.Diagnostics, diag.FailoverPlanned(name.ValueString(), evidence))
}

// takeOver gives the standby its vote. Where a lost voter would have to leave
// first, and nobody takes it out, it stays a learner, with a warning: everything
// else in the apply goes on.
func (m *learnerModel) takeOver(ctx context.Context, b *backend.Backend, lost []membership.MemberID) (diags fwdiag.Diagnostics) {
	timeout, diags := m.Timeouts.Update(ctx, defaultJoin)
	join, d := m.join(ctx, kindLearner)
	diags.Append(d...)
	id, cluster, d := m.ids()
	diags.Append(d...)
	c, d := m.clusterOf(ctx, b)
	diags.Append(d...)
	if diags.HasError() {
		return diags
	}
	join.ID, join.Cluster = id, cluster
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	name := m.Name.ValueString()
	joined, err := c.Failover(ctx, join, lost)
	var held *reconfigure.HeldUp
	switch {
	case errors.As(err, &held):
		report.Warn(&diags, diag.FailoverHeldUp(name, held))
		return diags
	case err != nil:
		report.Error(&diags, diag.Explain(reconfigure.ActionPromote, name, err))
		return diags
	}
	for _, w := range joined.Warnings {
		report.Warn(&diags, diag.WarningText(reconfigure.ActionPromote, name, w, joined.Snapshot))
	}
	diags.Append(m.take(ctx, joined)...)
	return diags
}
