// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package member

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// identity is what makes a member this very one: member IDs are unique within
// their cluster, for ever.
type identity struct {
	ClusterID types.String `tfsdk:"cluster_id"`
	MemberID  types.String `tfsdk:"member_id"`
}

func identitySchema() identityschema.Schema {
	return identityschema.Schema{Attributes: map[string]identityschema.Attribute{
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

// IdentitySchema implements resource.ResourceWithIdentity.
func (r *Member) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = identitySchema()
}

// IdentitySchema implements resource.ResourceWithIdentity.
func (r *Learner) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = identitySchema()
}

// identify sets the identity, which older CLIs want in every answer, also in
// the one that lets go of the resource.
func (m model) identify(ctx context.Context, to *tfsdk.ResourceIdentity) fwDiagnostics {
	if to == nil {
		return nil
	}
	return to.Set(ctx, identity{ClusterID: m.ClusterID, MemberID: m.ID})
}
