// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package duration is how durations are written in the configuration.
package duration

import (
	"context"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/diag"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
)

// Validator checks that a text is a duration of more than zero, such as "90s".
func Validator() validator.String { return check{} }

type check struct{}

// Description implements validator.String.
func (check) Description(context.Context) string {
	return "must be a duration of more than zero, such as 90s or 5m"
}

// MarkdownDescription implements validator.String.
func (c check) MarkdownDescription(ctx context.Context) string { return c.Description(ctx) }

// ValidateString implements validator.String.
func (check) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if d, err := time.ParseDuration(req.ConfigValue.ValueString()); err != nil || d <= 0 {
		report.ErrorAt(&resp.Diagnostics, req.Path, diag.InvalidDuration(req.Path.String(), req.ConfigValue.ValueString()))
	}
}

// Timeouts is [timeouts.Attributes] with every duration checked by [Validator]:
// the library's own check accepts what is over before it begins.
func Timeouts(ctx context.Context, o timeouts.Opts) schema.Attribute {
	all, ok := timeouts.Attributes(ctx, o).(schema.SingleNestedAttribute)
	if !ok {
		panic("timeouts.Attributes returns no schema.SingleNestedAttribute any more")
	}
	for name, a := range all.Attributes {
		if s, ok := a.(schema.StringAttribute); ok {
			s.Validators = []validator.String{Validator()}
			all.Attributes[name] = s
		}
	}
	return all
}

// Text is a duration as it is written in the configuration: "10m", not "10m0s".
func Text(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
