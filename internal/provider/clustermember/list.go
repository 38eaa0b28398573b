// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package clustermember

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	fwlist "github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/list/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// List implements list "etcd_member" and list "etcd_learner": the existing
// members, to be imported.
type List struct{ *Resource }

var _ fwlist.ListResourceWithConfigure = (*List)(nil)

// NewList returns list "etcd_member", which lists the voting members.
func NewList() fwlist.ListResource { return &List{newResource(roleVoter)} }

// NewLearnerList returns list "etcd_learner", which lists the learners.
func NewLearnerList() fwlist.ListResource { return &List{newResource(roleLearner)} }

// ListResourceConfigSchema implements [fwlist.ListResource].
func (l *List) ListResourceConfigSchema(_ context.Context, _ fwlist.ListResourceSchemaRequest, resp *fwlist.ListResourceSchemaResponse) {
	what := "Lists the voting members of a cluster, each with the identity for its import."
	if l.role == roleLearner {
		what = "Lists the learners of a cluster, each with the identity for its import."
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: what,
		Attributes: map[string]schema.Attribute{
			"endpoints": schema.ListAttribute{
				ElementType: types.StringType, Optional: true, Validators: []validator.List{listvalidator.SizeAtLeast(1)},
				MarkdownDescription: "Client URLs of the cluster. Default: the provider's `endpoints`.",
			},
		},
	}
}

// List implements [fwlist.ListResource]. It sorts by name, with members that
// never started at the end. A cluster that does not respond is an error,
// because an empty list would mean that there are no members. Without a quorum
// it lists the members that the responding member returns, with a warning.
func (l *List) List(ctx context.Context, req fwlist.ListRequest, stream *fwlist.ListResultsStream) {
	var diags diag.Diagnostics
	members, snap := l.members(ctx, req, &diags)
	if diags.HasError() {
		stream.Results = fwlist.ListResultsStreamDiagnostics(diags)
		return
	}
	stream.Results = func(push func(fwlist.ListResult) bool) {
		for i, m := range members {
			if req.Limit > 0 && int64(i) >= req.Limit {
				return
			}
			result := l.result(ctx, req, snap, m)
			if i == 0 && !snap.Linearizable {
				report.Warn(&result.Diagnostics, text.ListUnconfirmed)
			}
			if !push(result) {
				return
			}
		}
	}
}

func (l *List) members(ctx context.Context, req fwlist.ListRequest, diags *diag.Diagnostics) (out []membership.Member, snap membership.Snapshot) {
	const listing = "list members"
	var endpoints types.List
	diags.Append(req.Config.GetAttribute(ctx, path.Root("endpoints"), &endpoints)...)
	c := l.Backend.Open(listing, attribute.Texts(endpoints), diags)
	if c == nil {
		return nil, snap
	}
	snap, err := c.View(ctx, 0)
	if err != nil {
		report.Error(diags, text.Maintenance(listing, err))
	}
	return slices.DeleteFunc(snap.ByName(), func(m membership.Member) bool { return m.Learner != (l.role == roleLearner) }), snap
}

func (l *List) result(ctx context.Context, req fwlist.ListRequest, snap membership.Snapshot, it membership.Member) fwlist.ListResult {
	out := req.NewListResult(ctx)
	out.DisplayName = text.Member(snap, it.ID)
	m := ofMember(ctx, l.role, snap, it, &out.Diagnostics)
	out.Diagnostics.Append(m.setIdentity(ctx, out.Identity)...)
	if req.IncludeResource && !out.Diagnostics.HasError() {
		out.Diagnostics.Append(out.Resource.Set(ctx, m.stored())...)
	}
	return out
}
