// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package clustermember

import (
	"cmp"
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/private"
)

// ownAddress is this provider's address without the registry's host.
const ownAddress = "terraform-provider-etcd/etcd"

// MoveState implements resource.ResourceWithMoveState. An etcd_learner becomes an
// etcd_member, and the next update promotes it. An etcd_member becomes an etcd_learner;
// a voter then has promote = true, because a promotion cannot be undone.
func (r *Resource) MoveState(ctx context.Context) []resource.StateMover {
	before, last := roleLearner, waitCaughtUp
	if r.role == roleLearner {
		before, last = roleVoter, waitVoting
	}
	var source resource.SchemaResponse
	(&Resource{role: before}).Schema(ctx, resource.SchemaRequest{}, &source)
	return []resource.StateMover{{SourceSchema: &source.Schema, StateMover: func(ctx context.Context, req resource.MoveStateRequest, resp *resource.MoveStateResponse) {
		if !movesFrom(before.typeName("etcd"), req) {
			return
		}
		from := before.model(ctx, req.SourceState, &resp.Diagnostics)
		m := model{
			common: from.common, role: r.role,
			Promote: types.BoolValue(from.Role.ValueString() == string(roleVoter)), Failover: types.BoolValue(false),
		}
		if m.WaitUntil.ValueString() == last {
			m.WaitUntil = types.StringNull() // the other resource has another last stage
		}
		if !resp.Diagnostics.HasError() {
			resp.Diagnostics.Append(resp.TargetState.Set(ctx, m.stored())...)
			resp.Diagnostics.Append(m.setIdentity(ctx, resp.TargetIdentity)...)
			// A resource that was moved before, but not updated since, keeps its original owner.
			if was := cmp.Or(keptOf(ctx, req.SourcePrivate, &resp.Diagnostics).Moved, from.owner()); was != m.owner() {
				private.Keep(ctx, resp.TargetPrivate, keptKey, kept{Moved: was}, &resp.Diagnostics)
			}
		}
	}}}
}

// movesFrom reports whether the state is that of the other resource of this
// provider, from any registry. OpenTofu before 1.11.12 and 1.12.4 names the
// provider by its type alone (opentofu/opentofu#4352).
func movesFrom(resourceType string, req resource.MoveStateRequest) bool {
	from := req.SourceProviderAddress
	return req.SourceState != nil && req.SourceTypeName == resourceType &&
		(from == "etcd" || from == ownAddress || strings.HasSuffix(from, "/"+ownAddress))
}
