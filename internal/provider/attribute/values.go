// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package attribute holds the code that attributes of several resources share: how they
// are read, durations, URLs, names and IDs of members, and collections of texts. The
// rules are those of package membership.
package attribute

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
)

// Source is a configuration, plan, state or identity.
type Source interface {
	Get(ctx context.Context, to any) diag.Diagnostics
	GetAttribute(ctx context.Context, at path.Path, to any) diag.Diagnostics
}

// Read returns a source as a value of a type with tfsdk tags. On an error it returns what
// could be read.
func Read[M any](ctx context.Context, from Source, diags *diag.Diagnostics) (m M) {
	diags.Append(from.Get(ctx, &m)...)
	return m
}

// As returns an object as a value of a type with tfsdk tags, nil if it is null or unknown.
func As[M any](ctx context.Context, object types.Object, diags *diag.Diagnostics) *M {
	if !IsGiven(object) {
		return nil
	}
	var m M
	diags.Append(object.As(ctx, &m, basetypes.ObjectAsOptions{})...)
	return &m
}

// Described describes a validator or a plan modifier that embeds it.
type Described string

// Description implements validator.Describer and planmodifier.Describer.
func (d Described) Description(context.Context) string { return string(d) }

// MarkdownDescription returns [Described.Description].
func (d Described) MarkdownDescription(context.Context) string { return string(d) }

// IsGiven reports whether a value is neither null nor unknown.
func IsGiven(v attr.Value) bool { return !v.IsNull() && !v.IsUnknown() }

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

// TextsByKey returns the known texts of a map, nil for a null map.
func TextsByKey(m types.Map) map[string]string {
	if !IsGiven(m) {
		return nil
	}
	out := map[string]string{}
	for key, v := range m.Elements() {
		if s, ok := v.(types.String); ok && IsGiven(s) {
			out[key] = s.ValueString()
		}
	}
	return out
}

// TextOf returns a text, and null for "".
func TextOf(s string) types.String {
	if s == "" {
		return types.StringNull()
	}
	return types.StringValue(s)
}

// SetOf returns the texts as a set, or null if texts is nil.
func SetOf(texts []string) types.Set {
	if texts == nil {
		return types.SetNull(types.StringType)
	}
	return types.SetValueMust(types.StringType, ValuesOf(texts))
}

// ValuesOf returns texts as values, never nil.
func ValuesOf(texts []string) []attr.Value {
	values := make([]attr.Value, len(texts))
	for i, s := range texts {
		values[i] = types.StringValue(s)
	}
	return values
}

// TypesOf returns the types of the attributes of a schema, by name.
func TypesOf[A interface{ GetType() attr.Type }](attributes map[string]A) map[string]attr.Type {
	out := map[string]attr.Type{}
	for name, a := range attributes {
		out[name] = a.GetType()
	}
	return out
}

// ComputedText returns an attribute that the provider sets; so do the others below.
func ComputedText(description string) schema.StringAttribute {
	return schema.StringAttribute{Computed: true, MarkdownDescription: description}
}

// ComputedNumber is [ComputedText] for an integer.
func ComputedNumber(description string) schema.Int64Attribute {
	return schema.Int64Attribute{Computed: true, MarkdownDescription: description}
}

// ComputedFlag is [ComputedText] for a truth value.
func ComputedFlag(description string) schema.BoolAttribute {
	return schema.BoolAttribute{Computed: true, MarkdownDescription: description}
}

// ComputedSet is [ComputedText] for a set of texts.
func ComputedSet(description string) schema.SetAttribute {
	return schema.SetAttribute{ElementType: types.StringType, Computed: true, MarkdownDescription: description}
}

// ComputedList is [ComputedText] for a list of texts.
func ComputedList(description string) schema.ListAttribute {
	return schema.ListAttribute{ElementType: types.StringType, Computed: true, MarkdownDescription: description}
}

// ComputedMap is [ComputedText] for a map of texts.
func ComputedMap(description string, sensitive bool) schema.MapAttribute {
	return schema.MapAttribute{ElementType: types.StringType, Computed: true, Sensitive: sensitive, MarkdownDescription: description}
}

// ComputedObjects is [ComputedText] for a list of objects.
func ComputedObjects(description string, attributes map[string]schema.Attribute) schema.ListNestedAttribute {
	return schema.ListNestedAttribute{Computed: true, MarkdownDescription: description, NestedObject: schema.NestedAttributeObject{Attributes: attributes}}
}

// RequiredText returns an argument; so do the others below.
func RequiredText(description string, validators ...validator.String) schema.StringAttribute {
	return schema.StringAttribute{Required: true, MarkdownDescription: description, Validators: validators}
}

// OptionalText is [RequiredText] for an argument that may be left out.
func OptionalText(description string, validators ...validator.String) schema.StringAttribute {
	return schema.StringAttribute{Optional: true, MarkdownDescription: description, Validators: validators}
}

// OptionalFlag is [OptionalText] for a truth value.
func OptionalFlag(description string) schema.BoolAttribute {
	return schema.BoolAttribute{Optional: true, MarkdownDescription: description}
}

// DefaultFlag is [OptionalFlag] with the default false.
func DefaultFlag(description string, modifiers ...planmodifier.Bool) schema.BoolAttribute {
	return schema.BoolAttribute{Optional: true, Computed: true, Default: booldefault.StaticBool(false), MarkdownDescription: description + " Default: `false`.", PlanModifiers: modifiers}
}

// OptionalEndpoints is [OptionalText] for client URLs of a cluster.
func OptionalEndpoints(description string) schema.ListAttribute {
	return schema.ListAttribute{
		ElementType: types.StringType, Optional: true, MarkdownDescription: description, Validators: []validator.List{listvalidator.SizeAtLeast(1), Endpoints},
	}
}

// OptionalSet is [OptionalText] for a set of texts.
func OptionalSet(description string, validators ...validator.Set) schema.SetAttribute {
	return schema.SetAttribute{ElementType: types.StringType, Optional: true, MarkdownDescription: description, Validators: validators}
}

// DefaultText is [OptionalText] for a text for which the provider sets a default.
func DefaultText(description string, validators ...validator.String) schema.StringAttribute {
	return schema.StringAttribute{Optional: true, Computed: true, MarkdownDescription: description, Validators: validators}
}

// OptionalMap is [OptionalText] for a map of texts without null.
func OptionalMap(description string) schema.MapAttribute {
	return schema.MapAttribute{
		ElementType: types.StringType, Optional: true, MarkdownDescription: description, Validators: []validator.Map{mapvalidator.NoNullValues()},
	}
}
