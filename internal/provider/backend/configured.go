// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package backend

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
)

// Resource is the part that every resource has, and with it the list of such resources.
type Resource struct {
	// Type is the type after "etcd", such as "_member".
	Type string
	// Backend is nil if the provider is not configured yet (validation).
	Backend *Backend
}

// Metadata implements [resource.Resource].
func (r *Resource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + r.Type
}

// Configure implements [resource.ResourceWithConfigure].
func (r *Resource) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	r.Backend = From(req.ProviderData, &resp.Diagnostics)
}

// DataSource is the part that every data source has; see [Resource].
type DataSource struct {
	Type    string
	Backend *Backend
}

// Metadata implements [datasource.DataSource].
func (d *DataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + d.Type
}

// Configure implements [datasource.DataSourceWithConfigure].
func (d *DataSource) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	d.Backend = From(req.ProviderData, &resp.Diagnostics)
}

// From returns the Backend in the ProviderData of a configure request, nil if
// the provider is not configured yet (validation). The framework makes one such
// request for each resource that it begins to read, plan or apply.
func From(data any, diags *diag.Diagnostics) *Backend {
	b, ok := data.(*Backend)
	if !ok && data != nil {
		diags.AddError("Unexpected provider data", fmt.Sprintf("got %T, want *backend.Backend; this is a bug in the provider", data))
	}
	return b
}
