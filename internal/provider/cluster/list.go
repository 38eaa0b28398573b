// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	fwlist "github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/list/schema"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// List implements list "etcd_cluster": the cluster at the endpoints, to be imported.
type List struct{ *Resource }

var _ fwlist.ListResourceWithConfigure = (*List)(nil)

// NewList returns list "etcd_cluster".
func NewList() fwlist.ListResource { return &List{newResource()} }

// ListResourceConfigSchema implements [fwlist.ListResource].
func (l *List) ListResourceConfigSchema(_ context.Context, _ fwlist.ListResourceSchemaRequest, resp *fwlist.ListResourceSchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Lists the cluster at the provider's `endpoints`, with the identity for its import.",
	}
}

// List implements [fwlist.ListResource]. A cluster that does not respond is an error.
func (l *List) List(ctx context.Context, req fwlist.ListRequest, stream *fwlist.ListResultsStream) {
	var diags diag.Diagnostics
	m := l.present(ctx, &diags)
	if diags.HasError() {
		stream.Results = fwlist.ListResultsStreamDiagnostics(diags)
		return
	}
	stream.Results = func(push func(fwlist.ListResult) bool) {
		out := req.NewListResult(ctx)
		out.DisplayName = "cluster " + m.ClusterID.ValueString()
		out.Diagnostics.Append(diags...)
		out.Diagnostics.Append(m.setIdentity(ctx, out.Identity)...)
		if req.IncludeResource && !out.Diagnostics.HasError() {
			out.Diagnostics.Append(out.Resource.Set(ctx, &m)...)
		}
		push(out)
	}
}

func (l *List) present(ctx context.Context, diags *diag.Diagnostics) (m model) {
	const listing = "list the cluster"
	c := l.Backend.Open(listing, nil, diags)
	if c == nil {
		return m
	}
	snap, err := c.View(ctx, 0)
	if err != nil {
		report.Error(diags, text.Maintenance(listing, err))
		return m
	}
	return l.imported(ctx, snap, nil, diags)
}
