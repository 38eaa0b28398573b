// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package clustermember

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// NoteOf returns what the state of a resource has of a member. Terraform reads the state
// of each object before it plans the object, also of a tainted one without a refresh.
func NoteOf(ctx context.Context, typ string, state *tfprotov6.RawState) (e membership.Entry, ok bool) {
	for _, r := range []role{roleVoter, roleLearner} {
		if typ != r.typeName("etcd") {
			continue
		}
		var of resource.SchemaResponse
		newResource(r).Schema(ctx, resource.SchemaRequest{}, &of)
		raw, err := state.UnmarshalWithOpts(of.Schema.Type().TerraformType(ctx), tfprotov6.UnmarshalOpts{
			ValueFromJSONOpts: tftypes.ValueFromJSONOpts{IgnoreUndefinedAttributes: true},
		})
		if err != nil {
			return e, false // the framework reports it
		}
		var diags diag.Diagnostics
		e = noteOf(r.model(ctx, tfsdk.State{Schema: of.Schema, Raw: raw}, &diags))
		return e, !diags.HasError() && e.ID != 0 && e.Cluster != 0
	}
	return e, false
}
