// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/node"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/private"
)

// formerKey is the key of the nodes before those that were rebuilt ([pack]), until a member
// has followed: see [membership.Node.Former].
const formerKey = "former"

var nodesType = types.MapType{ElemType: types.ObjectType{AttrTypes: node.Types}}

// formerNodes returns the former nodes, by name.
func formerNodes(ctx context.Context, kept private.Reader, diags *diag.Diagnostics) map[string]node.Node {
	packed := private.Kept[[]byte](ctx, kept, formerKey, diags)
	if len(packed) == 0 {
		return map[string]node.Node{}
	}
	return model{Node: unpack(ctx, packed, diags)}.nodes(ctx, diags)
}

// keepFormer keeps the nodes before those that the plan rebuilds, and those that it may
// still take back. A node that no member followed is not one to return to.
func (p nodesPlan) keepFormer(ctx context.Context, keep private.Writer, stored health, diags *diag.Diagnostics) {
	former := p.former
	maps.DeleteFunc(former, func(name string, _ node.Node) bool {
		followed := slices.ContainsFunc(stored.Members, func(e membership.NodeHealth) bool { return e.Recorded && e.Node == p.has[name].ID.ValueString() })
		return followed || slices.Contains(p.TakenBack, name)
	})
	if _, unfollowed := former[p.Rebuilt]; p.Rebuilt != "" && !unfollowed {
		former[p.Rebuilt] = p.has[p.Rebuilt]
	}
	nodes, d := types.MapValueFrom(ctx, nodesType.ElemType, former)
	diags.Append(d...)
	private.Keep(ctx, keep, formerKey, pack(ctx, nodes, diags), diags)
}

// pack returns nodes as Terraform's protocol has them.
func pack(ctx context.Context, nodes types.Map, diags *diag.Diagnostics) []byte {
	value, err := nodes.ToTerraformValue(ctx)
	var dynamic tfprotov6.DynamicValue
	if err == nil {
		dynamic, err = tfprotov6.NewDynamicValue(nodesType.TerraformType(ctx), value)
	}
	if err != nil {
		diags.AddError("Cannot keep the nodes", err.Error())
	}
	return dynamic.MsgPack
}

// unpack returns the nodes of [pack].
func unpack(ctx context.Context, packed []byte, diags *diag.Diagnostics) types.Map {
	value, err := tfprotov6.DynamicValue{MsgPack: packed}.Unmarshal(nodesType.TerraformType(ctx))
	var nodes attr.Value
	if err == nil {
		nodes, err = nodesType.ValueFromTerraform(ctx, value)
	}
	if err != nil {
		diags.AddError("Cannot read the nodes before", err.Error())
	}
	m, _ := nodes.(types.Map)
	return m
}
