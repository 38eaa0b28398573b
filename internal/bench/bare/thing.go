// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
)

// thing is a resource whose state equals its plan. It has the attribute input
// and the given number of other attributes, which are null.
type thing struct {
	name   string
	others int
}

// newThing returns a minimal resource.
func newThing() resource.Resource { return thing{name: "_thing"} }

// newWide has as many attributes as a discovery token, but all are simple.
func newWide() resource.Resource { return thing{name: "_wide", others: 14} }

// Metadata implements [resource.Resource].
func (r thing) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + r.name
}

// Schema implements [resource.Resource].
func (r thing) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema.Attributes = map[string]schema.Attribute{"input": schema.StringAttribute{Required: true}}
	for i := range r.others {
		resp.Schema.Attributes[fmt.Sprintf("other_%d", i)] = schema.StringAttribute{Optional: true}
	}
}

// Create implements [resource.Resource].
func (r thing) Create(_ context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	resp.State.Raw = req.Plan.Raw
}

// Read implements [resource.Resource]. The state does not change. Read decodes
// it, as a resource that sends a request would.
func (r thing) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var input string
	resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("input"), &input)...)
}

// Update implements [resource.Resource].
func (r thing) Update(_ context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	resp.State.Raw = req.Plan.Raw
}

// Delete implements [resource.Resource].
func (r thing) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}
