// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package clustermember

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// identity identifies a member: member IDs are unique within their cluster,
// permanently.
type identity struct {
	ClusterID types.String `tfsdk:"cluster_id"`
	MemberID  types.String `tfsdk:"member_id"`
}

// IdentitySchema implements resource.ResourceWithIdentity.
func (r *Resource) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = identityschema.Schema{Attributes: map[string]identityschema.Attribute{
		"cluster_id": identityschema.StringAttribute{
			RequiredForImport: true,
			Description:       "The cluster's ID in hexadecimal.",
		},
		"member_id": identityschema.StringAttribute{
			RequiredForImport: true,
			Description:       "The member's ID in hexadecimal.",
		},
	}}
}

// setIdentity sets the identity. Older CLIs require it in every response, even
// in a response that drops the resource.
func (m model) setIdentity(ctx context.Context, to *tfsdk.ResourceIdentity) diag.Diagnostics {
	if to == nil {
		return nil
	}
	return to.Set(ctx, identity{ClusterID: m.ClusterID, MemberID: m.ID})
}
