// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// heldKey is the key under which the first call of a plan tells the second call
// that the state has the rollout. For a replacement, Terraform plans a second
// time, without the state.
const heldKey = "held"

// isReplaced reports whether the rollout replaces the rollout in the state.
func isReplaced(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) bool {
	if !req.State.Raw.IsNull() {
		resp.Diagnostics.Append(resp.Private.SetKey(ctx, heldKey, []byte("true"))...)
		return false
	}
	held, diags := req.Private.GetKey(ctx, heldKey)
	resp.Diagnostics.Append(diags...)
	return len(held) > 0
}

// nameList holds the names of a map, nil if they are not known.
type nameList []string

func names(m types.Map) nameList {
	if m.IsUnknown() {
		return nil
	}
	return slices.AppendSeq(nameList{}, maps.Keys(m.Elements()))
}

func (l nameList) without(have map[string]string) nameList {
	return slices.DeleteFunc(l, func(name string) bool { _, has := have[name]; return has })
}

// taken returns the names new to the rollout that belong to members, see
// [membership.RolloutTakes]. A cluster that cannot be observed may not exist
// yet; then the guard of the plan allows the replacement of one member at most.
func (r *Resource) taken(ctx context.Context, entering nameList) []string {
	none := entering != nil && len(entering) == 0
	if none || r.isApplying() {
		return nil // too late once an apply has changed something
	}
	_, snap, err := r.view(ctx)
	if err != nil {
		return nil
	}
	return membership.RolloutTakes(snap, entering)
}

// ImportState implements resource.ResourceWithImportState. The ID is a JSON
// object of the present value of each member, by name, which is not stored
// anywhere else. The desired values are the same until the next plan.
func (r *Resource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	present, err := parseImportID(req.ID)
	if err != nil {
		report.Error(&resp.Diagnostics, text.RolloutImportID(err))
		return
	}
	var m model
	resp.Diagnostics.Append(m.take(ctx, membership.PlanRollout(present, present, false, ""))...)
	m.Desired = m.Effective
	m.setHealth(text.RolloutNotLooked, "")
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

func parseImportID(id string) (map[string]string, error) {
	var given map[string]*string
	if err := json.Unmarshal([]byte(id), &given); err != nil {
		return nil, err
	}
	if len(given) == 0 {
		return nil, errors.New("it has no name")
	}
	present := map[string]string{}
	for name, value := range given {
		if value == nil {
			return nil, errors.New("the value of " + name + " is null")
		}
		present[name] = *value
	}
	return present, nil
}
