// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package maintenance implements the action etcd_defragment. It needs Terraform 1.14.
package maintenance

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// configured is the part that every action has.
type configured struct {
	name    string
	backend *backend.Backend
}

// Metadata implements [action.Action].
func (c *configured) Metadata(_ context.Context, req action.MetadataRequest, resp *action.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_" + c.name
}

// Configure implements [action.ActionWithConfigure].
func (c *configured) Configure(_ context.Context, req action.ConfigureRequest, resp *action.ConfigureResponse) {
	c.backend = backend.From(req.ProviderData, &resp.Diagnostics)
}

func endpointsAttribute() schema.Attribute {
	return schema.ListAttribute{
		ElementType: types.StringType, Optional: true, Validators: []validator.List{listvalidator.SizeAtLeast(1), attribute.Endpoints()},
		MarkdownDescription: "Client URLs of the cluster. Default: the provider's `endpoints`.",
	}
}

func timeoutAttribute(what string, by time.Duration) schema.Attribute {
	return schema.StringAttribute{
		Optional: true, Validators: []validator.String{attribute.Duration()},
		MarkdownDescription: what + ", such as `90s`. Default: `" + attribute.DurationText(by) + "`.",
	}
}

// within returns the given duration, or by if there is none.
func within(given types.String, by time.Duration) time.Duration {
	if d, err := time.ParseDuration(given.ValueString()); err == nil && d > 0 {
		return d
	}
	return by
}

// at returns the cluster at the endpoints of the action, or at the provider's.
// doing completes "Cannot ...".
func (c *configured) at(doing string, given types.List, diags *diag.Diagnostics) *backend.Cluster {
	if c.backend == nil || c.backend.Unknown {
		report.Error(diags, text.UnknownProvider(doing))
		return nil
	}
	cluster, err := c.backend.At(attribute.Texts(given), diags)
	if err != nil {
		report.Error(diags, text.Maintenance(doing, err))
	}
	return cluster
}

// telling returns a function that sends progress to the user.
func telling(resp *action.InvokeResponse) func(reconfigure.Step) {
	return func(s reconfigure.Step) { say(resp, text.Progress(s)) }
}

func say(resp *action.InvokeResponse, message string) {
	resp.SendProgress(action.InvokeProgressEvent{Message: message})
}
