// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package bootstrap_test

import (
	"reflect"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/bootstrap"
)

func TestObjectRoundTrip(t *testing.T) {
	in := bootstrap.Bootstrap{
		Size: types.Int64Value(2), Complete: types.BoolValue(false),
		Environment: types.MapValueMust(types.StringType, map[string]attr.Value{"ETCD_DISCOVERY_TOKEN": types.StringUnknown()}),
	}
	var diags diag.Diagnostics
	if out := bootstrap.From(t.Context(), in.Object(), &diags); diags.HasError() || !reflect.DeepEqual(*out, in) {
		t.Errorf("got %+v, want %+v; %v", out, in, diags)
	}
	for name, object := range map[string]types.Object{
		"null": types.ObjectNull(bootstrap.AttrTypes()), "unknown": types.ObjectUnknown(bootstrap.AttrTypes()),
	} {
		if got := bootstrap.From(t.Context(), object, &diags); got != nil || diags.HasError() {
			t.Errorf("%s: got %v, %v", name, got, diags)
		}
	}
}

// The object that one resource gives must be assignable to the other.
func TestAttributesHaveTheObjectsType(t *testing.T) {
	for name, c := range map[string]struct {
		schema.SingleNestedAttribute
		computed bool
	}{"computed": {bootstrap.ComputedAttribute(), true}, "input": {bootstrap.InputAttribute(), false}} {
		if got := attribute.TypesOf(c.Attributes); !reflect.DeepEqual(got, bootstrap.AttrTypes()) {
			t.Errorf("%s: got %v, want %v", name, got, bootstrap.AttrTypes())
		}
		for of, a := range c.Attributes {
			if a.IsComputed() != c.computed || a.IsOptional() == c.computed {
				t.Errorf("%s attribute %s is computed %t, optional %t", name, of, a.IsComputed(), a.IsOptional())
			}
		}
	}
}
