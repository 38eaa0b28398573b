// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package member

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// movedKey is where a move leaves the owner that the member has on record, until
// an update has put it on record for its new resource.
const movedKey = "moved"

// ownAddress is this provider's address without the registry's host.
const ownAddress = "terraform-provider-etcd/etcd"

// MoveState implements resource.ResourceWithMoveState: an etcd_learner becomes
// an etcd_member, and the next update promotes it.
func (r *Member) MoveState(ctx context.Context) []resource.StateMover {
	var source resource.SchemaResponse
	(&Learner{}).Schema(ctx, resource.SchemaRequest{}, &source)
	return []resource.StateMover{{SourceSchema: &source.Schema, StateMover: func(ctx context.Context, req resource.MoveStateRequest, resp *resource.MoveStateResponse) {
		var from learnerModel
		if !movesFrom("etcd_learner", req) || failed(resp, req.SourceState.Get(ctx, &from)) {
			return
		}
		m := memberModel{model: from.model, LearnerID: types.StringNull()}
		if m.WaitUntil.ValueString() == waitCaughtUp {
			m.WaitUntil = types.StringValue(waitVoting)
		}
		if failed(resp, resp.TargetState.Set(ctx, &m)) {
			return
		}
		m.moved(ctx, from.owner(kindLearner), m.owner(kindMember), req, resp)
	}}}
}

// MoveState implements resource.ResourceWithMoveState: an etcd_member becomes
// an etcd_learner. A vote cannot be taken back, so that of a voter stands as
// promoted.
func (r *Learner) MoveState(ctx context.Context) []resource.StateMover {
	var source resource.SchemaResponse
	(&Member{}).Schema(ctx, resource.SchemaRequest{}, &source)
	return []resource.StateMover{{SourceSchema: &source.Schema, StateMover: func(ctx context.Context, req resource.MoveStateRequest, resp *resource.MoveStateResponse) {
		var from memberModel
		if !movesFrom("etcd_member", req) || failed(resp, req.SourceState.Get(ctx, &from)) {
			return
		}
		m := learnerModel{model: from.model, Promote: types.BoolValue(from.Role.ValueString() == roleVoter), Failover: types.BoolValue(false)}
		if m.WaitUntil.ValueString() == waitVoting {
			m.WaitUntil = types.StringValue(waitCaughtUp)
		}
		if failed(resp, resp.TargetState.Set(ctx, &m)) {
			return
		}
		m.moved(ctx, from.owner(from.kind()), m.owner(kindLearner), req, resp)
	}}}
}

// movesFrom reports whether the state is that of the other resource of this
// provider, whatever registry it was installed from. OpenTofu before 1.11.12 and
// 1.12.4 names the provider by its type alone (opentofu/opentofu#4352).
func movesFrom(resourceType string, req resource.MoveStateRequest) bool {
	from := req.SourceProviderAddress
	return req.SourceState != nil && req.SourceTypeName == resourceType &&
		(from == "etcd" || from == ownAddress || strings.HasSuffix(from, "/"+ownAddress))
}

func failed(resp *resource.MoveStateResponse, diags fwDiagnostics) bool {
	resp.Diagnostics.Append(diags...)
	return resp.Diagnostics.HasError()
}

// moved sets the identity and, if the owner changes, notes which one it was.
func (m model) moved(ctx context.Context, was, now string, req resource.MoveStateRequest, resp *resource.MoveStateResponse) {
	resp.Diagnostics.Append(m.identify(ctx, resp.TargetIdentity)...)
	if before := movedOwner(ctx, req.SourcePrivate); before != "" {
		was = before // moved before, and not updated since
	}
	if was == now {
		return
	}
	note, err := json.Marshal(was)
	if err != nil {
		resp.Diagnostics.AddError("Cannot keep the owner of the record", err.Error())
		return
	}
	resp.Diagnostics.Append(resp.TargetPrivate.SetKey(ctx, movedKey, note)...)
}

// movedOwner reads what [model.moved] left, "" for nothing.
func movedOwner(ctx context.Context, from privateReader) (owner string) {
	note, _ := from.GetKey(ctx, movedKey)
	if json.Unmarshal(note, &owner) != nil {
		return ""
	}
	return owner
}

// planMoved plans an update for a member that was moved, if its record has to
// be written for the new owner: the move by itself is none.
func planMoved(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() || req.State.Raw.IsNull() || resp.Diagnostics.HasError() || movedOwner(ctx, req.Private) == "" {
		return
	}
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("version"), types.StringUnknown())...)
}
