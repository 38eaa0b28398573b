// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package memberurl validates what members are known by: their names and their
// URLs. The rules are those of package membership.
package memberurl

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/diag"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

type check struct {
	description string
	f           func(string) error
}

// Validator checks an advertised URL: one at which others reach the member.
func Validator() validator.String {
	return check{
		description: "must be a URL with scheme http or https, a host and a port, such as https://10.0.1.10:2380",
		f:           func(s string) error { _, err := membership.NormalizeURL(s); return err },
	}
}

// ListenValidator checks a URL to bind to, where a wildcard address is fine.
func ListenValidator() validator.String {
	return check{
		description: "must be a URL with scheme http or https, an address and a port, such as https://0.0.0.0:2380",
		f:           listenURL,
	}
}

// listenURL is [membership.NormalizeURL] with wildcard addresses allowed.
func listenURL(s string) error {
	_, err := membership.NormalizeURL(s)
	var problem *membership.URLError
	if errors.As(err, &problem) && problem.Problem == membership.URLWildcard {
		return nil
	}
	return err
}

// NameValidator checks a member's name.
func NameValidator() validator.String {
	return check{
		description: "must be a member name: not empty, without '=' and ','",
		f:           membership.ValidateName,
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
		t := text(err)
		resp.Diagnostics.AddAttributeError(req.Path, t.Summary, t.Detail)
	}
}

// IDValidator checks a member ID.
func IDValidator() validator.String {
	return check{
		description: "must be a member ID: 1 to 16 hexadecimal digits, as etcdctl prints it",
		f:           func(s string) error { _, err := membership.ParseMemberID(s); return err },
	}
}

func text(err error) diag.Text {
	var u *membership.URLError
	var n *membership.NameError
	switch {
	case errors.As(err, &u):
		return diag.PeerURL(u)
	case errors.As(err, &n):
		return diag.MemberName(n)
	default:
		return diag.MemberID(err)
	}
}
