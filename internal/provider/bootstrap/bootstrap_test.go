// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package bootstrap_test

import (
	"context"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/bootstrap"
)

func TestObjectRoundTrip(t *testing.T) {
	ctx := context.Background()
	in := bootstrap.Bootstrap{
		Protocol: types.StringValue(bootstrap.ProtocolV3),
		Token:    types.StringUnknown(),
		Founders: types.SetValueMust(types.StringType, []attr.Value{types.StringValue("b"), types.StringValue("a")}),
		Size:     types.Int64Value(2),
		Complete: types.BoolValue(false),
	}
	object := in.Object()
	var diags diag.Diagnostics
	out := bootstrap.From(ctx, object, &diags)
	if diags.HasError() {
		t.Fatal(diags)
	}
	if !out.Token.IsUnknown() || out.Protocol != in.Protocol || !out.Founders.Equal(in.Founders) || out.Size != in.Size {
		t.Errorf("got %+v, want %+v", out, in)
	}
	if got := object.Attributes()["founders"]; !got.Equal(types.StringValue("a,b")) {
		t.Errorf("founders are %v, want them in order", got)
	}
	// A value that was not set is a null of the right type, not an error.
	if !out.Environment.IsNull() || !out.RegistryEndpoints.IsNull() || !out.ClusterID.IsNull() {
		t.Errorf("environment %v, registry_endpoints %v, cluster_id %v: want nulls", out.Environment, out.RegistryEndpoints, out.ClusterID)
	}
}

// Founders do not change on the way through the object: null, unknown as a
// whole or in part, or empty.
func TestFoundersRoundTrip(t *testing.T) {
	ctx := context.Background()
	unknown := types.SetUnknown(types.StringType)
	for _, c := range []struct{ in, want types.Set }{
		{types.SetNull(types.StringType), types.SetNull(types.StringType)},
		{unknown, unknown},
		{types.SetValueMust(types.StringType, []attr.Value{types.StringValue("a"), types.StringUnknown()}), unknown},
		{types.SetValueMust(types.StringType, []attr.Value{}), types.SetValueMust(types.StringType, []attr.Value{})},
	} {
		var diags diag.Diagnostics
		out := bootstrap.From(ctx, bootstrap.Bootstrap{Founders: c.in}.Object(), &diags)
		if diags.HasError() || !out.Founders.Equal(c.want) {
			t.Errorf("%v comes back as %v, want %v; %v", c.in, out.Founders, c.want, diags)
		}
	}
}

func TestFromNothing(t *testing.T) {
	ctx := context.Background()
	for name, object := range map[string]types.Object{
		"null":    types.ObjectNull(bootstrap.AttrTypes()),
		"unknown": types.ObjectUnknown(bootstrap.AttrTypes()),
	} {
		var diags diag.Diagnostics
		got := bootstrap.From(ctx, object, &diags)
		if got != nil || diags.HasError() {
			t.Errorf("%s: got %v, %v", name, got, diags)
		}
	}
}

// The object that one resource produces must be assignable to another.
func TestAttributesHaveTheObjectsType(t *testing.T) {
	want := bootstrap.Type()
	if got := bootstrap.ComputedAttribute().GetType(); !got.Equal(want) {
		t.Errorf("computed attribute: got %s, want %s", got, want)
	}
	if got := bootstrap.InputAttribute().GetType(); !got.Equal(want) {
		t.Errorf("input attribute: got %s, want %s", got, want)
	}
	for name, attribute := range bootstrap.ComputedAttribute().Attributes {
		if !attribute.IsComputed() || attribute.IsOptional() || attribute.GetMarkdownDescription() == "" {
			t.Errorf("computed attribute %s: want computed only, with a description", name)
		}
	}
	for name, attribute := range bootstrap.InputAttribute().Attributes {
		if attribute.IsComputed() || !attribute.IsOptional() {
			t.Errorf("input attribute %s: want optional only", name)
		}
	}
}
