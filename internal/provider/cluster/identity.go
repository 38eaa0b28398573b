// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// identity identifies a cluster. The ID is "" until a cluster that forms by discovery
// has responded, because Terraform requires an identity from the creation on.
type identity struct {
	ClusterID types.String `tfsdk:"cluster_id"`
}

// IdentitySchema implements [resource.ResourceWithIdentity].
func (r *Resource) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = identityschema.Schema{Attributes: map[string]identityschema.Attribute{
		"cluster_id": identityschema.StringAttribute{RequiredForImport: true, Description: "The cluster's ID in hexadecimal."},
	}}
}

// store sets the state and the identity.
func (m model) store(ctx context.Context, state *tfsdk.State, id *tfsdk.ResourceIdentity, diags *diag.Diagnostics) {
	diags.Append(state.Set(ctx, &m)...)
	diags.Append(m.setIdentity(ctx, id)...)
}

// setIdentity sets the identity.
func (m model) setIdentity(ctx context.Context, to *tfsdk.ResourceIdentity) diag.Diagnostics {
	if to == nil {
		return nil
	}
	return to.Set(ctx, identity{ClusterID: types.StringValue(m.ClusterID.ValueString())})
}
