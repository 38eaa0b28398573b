// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package memberurl validates what members are known by: their names and their
// URLs. The rules are those of package membership.
package memberurl

import (
	"context"
	"errors"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/diag"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
)

type check struct {
	description string
	f           func(string) error
	text        func(error) diag.Text
}

// NameValidator checks the name of a member, which may exist already. What a new
// one can be called is the business of [NewName].
func NameValidator() validator.String {
	return check{
		description: "must be a member name: not empty, without '=' and ','",
		f:           membership.ValidateListedName, text: text,
	}
}

// NewName refuses at plan to give a new member a name that its machine cannot
// start with. A name that the state has already stays as it is.
func NewName() planmodifier.String { return newName{} }

type newName struct{}

// Description implements planmodifier.String.
func (newName) Description(context.Context) string {
	return "the name of a new member is made of letters, digits and . _ : @ % + ~ -"
}

// MarkdownDescription implements planmodifier.String.
func (newName) MarkdownDescription(context.Context) string {
	return "the name of a new member is made of letters, digits and `. _ : @ % + ~ -`"
}

// PlanModifyString implements planmodifier.String.
func (newName) PlanModifyString(_ context.Context, req planmodifier.StringRequest, resp *planmodifier.StringResponse) {
	if req.PlanValue.IsNull() || req.PlanValue.IsUnknown() || req.PlanValue.Equal(req.StateValue) {
		return
	}
	if err := membership.ValidateName(req.PlanValue.ValueString()); err != nil {
		t := text(err)
		report.ErrorAt(&resp.Diagnostics, req.Path, t)
	}
}

// Description implements validator.String.
func (c check) Description(context.Context) string { return c.description }

// MarkdownDescription implements validator.String.
func (c check) MarkdownDescription(context.Context) string { return c.description }

// ValidateString implements validator.String.
func (c check) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if err := c.f(req.ConfigValue.ValueString()); err != nil {
		t := c.text(err)
		report.ErrorAt(&resp.Diagnostics, req.Path, t)
	}
}

// IDValidator checks a member ID.
func IDValidator() validator.String {
	return check{
		description: "must be a member ID: 1 to 16 hexadecimal digits, as etcdctl prints it",
		f:           func(s string) error { _, err := membership.ParseMemberID(s); return err },
		text:        text,
	}
}

// ClusterIDValidator checks a cluster ID.
func ClusterIDValidator() validator.String {
	return check{
		description: "must be a cluster ID: 1 to 16 hexadecimal digits, as etcdctl prints it",
		f:           func(s string) error { _, err := membership.ParseClusterID(s); return err },
		text:        diag.ClusterID,
	}
}

func text(err error) diag.Text {
	var n *membership.NameError
	switch {
	case errors.As(err, &n):
		return diag.MemberName(n)
	default:
		return diag.MemberID(err)
	}
}

// SamePlan keeps the URLs of the state where the configuration only writes the
// same ones differently (case, a trailing slash, order).
func SamePlan() planmodifier.Set { return samePlan{} }

type samePlan struct{}

// Description implements planmodifier.Set.
func (samePlan) Description(context.Context) string {
	return "the same URLs written differently are no change"
}

// MarkdownDescription implements planmodifier.Set.
func (s samePlan) MarkdownDescription(ctx context.Context) string { return s.Description(ctx) }

// PlanModifySet implements planmodifier.Set.
func (samePlan) PlanModifySet(_ context.Context, req planmodifier.SetRequest, resp *planmodifier.SetResponse) {
	if Same(req.StateValue, req.PlanValue) {
		resp.PlanValue = req.StateValue
	}
}

// Same reports whether two sets hold the same URLs, in any spelling. Sets that are
// null are the same; what is unknown is the same as nothing.
func Same(a, b types.Set) bool {
	if a.IsNull() || b.IsNull() {
		return a.IsNull() && b.IsNull()
	}
	was, ok := values(a)
	now, known := values(b)
	return ok && known && membership.SameURLs(was, now)
}

// values returns the texts; ok is false while one is not known.
func values(set types.Set) (out []string, ok bool) {
	for _, e := range set.Elements() {
		s, ok := e.(types.String)
		if !ok || s.IsUnknown() {
			return nil, false
		}
		out = append(out, s.ValueString())
	}
	return out, !set.IsUnknown()
}

// ForEtcd returns the URLs as etcd is told them: those at which others reach the
// member, and those that its process listens on. What cannot be normalised was
// refused by [Advertised] and [Listened] before, and is passed on as it is.
func ForEtcd(urls []string) []string {
	out := make([]string, len(urls))
	for i, u := range urls {
		out[i] = u
		if n, err := membership.NormalizeURL(u); err == nil {
			out[i] = n
		} else if n, err := membership.NormalizeListenURL(u); err == nil {
			out[i] = n
		}
	}
	slices.Sort(out)
	return out
}
