// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package attribute holds the code that attributes of several resources share: how they
// are read, durations, URLs, names and IDs of members, and collections of texts. The
// rules are those of package membership.
package attribute

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// Read returns a configuration, plan, state or identity as a value of a type with tfsdk
// tags. On an error it returns what could be read.
func Read[M any](ctx context.Context, from interface {
	Get(context.Context, any) diag.Diagnostics
}, diags *diag.Diagnostics) (m M) {
	diags.Append(from.Get(ctx, &m)...)
	return m
}

// Described describes a validator or a plan modifier that embeds it.
type Described string

// Description implements validator.Describer and planmodifier.Describer.
func (d Described) Description(context.Context) string { return string(d) }

// MarkdownDescription returns [Described.Description].
func (d Described) MarkdownDescription(context.Context) string { return string(d) }

// IsGiven reports whether a value is neither null nor unknown.
func IsGiven(v interface {
	IsNull() bool
	IsUnknown() bool
}) bool {
	return !v.IsNull() && !v.IsUnknown()
}

// collection is a list or set.
type collection interface{ Elements() []attr.Value }

// SomeUnknown reports whether a value or any part of it is unknown.
func SomeUnknown(v attr.Value) bool {
	if v.IsNull() { // also the zero value, which has no type
		return false
	}
	raw, err := v.ToTerraformValue(context.Background())
	return err != nil || !raw.IsFullyKnown()
}

// Texts returns the texts in a list or set that are neither null nor unknown.
func Texts(c collection) (out []string) {
	for _, e := range c.Elements() {
		if s, ok := e.(types.String); ok && IsGiven(s) {
			out = append(out, s.ValueString())
		}
	}
	return out
}

// SetOf returns the texts as a set, or null if texts is nil.
func SetOf(texts []string) types.Set {
	if texts == nil {
		return types.SetNull(types.StringType)
	}
	values := make([]attr.Value, len(texts))
	for i, s := range texts {
		values[i] = types.StringValue(s)
	}
	return types.SetValueMust(types.StringType, values)
}

// TypesOf returns the types of the attributes of a schema, by name.
func TypesOf[A interface{ GetType() attr.Type }](attributes map[string]A) map[string]attr.Type {
	out := map[string]attr.Type{}
	for name, a := range attributes {
		out[name] = a.GetType()
	}
	return out
}
