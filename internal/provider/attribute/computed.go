// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package attribute

import (
	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

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

// OptionalText returns an argument; so do the others below.
func OptionalText(description string, validators ...validator.String) schema.StringAttribute {
	return schema.StringAttribute{Optional: true, MarkdownDescription: description, Validators: validators}
}

// OptionalFlag is [OptionalText] for a truth value.
func OptionalFlag(description string) schema.BoolAttribute {
	return schema.BoolAttribute{Optional: true, MarkdownDescription: description}
}

// OptionalSet is [OptionalText] for a set of texts.
func OptionalSet(description string, validators ...validator.Set) schema.SetAttribute {
	return schema.SetAttribute{ElementType: types.StringType, Optional: true, MarkdownDescription: description, Validators: validators}
}

// OptionalMap is [OptionalText] for a map of texts without null.
func OptionalMap(description string) schema.MapAttribute {
	return schema.MapAttribute{
		ElementType: types.StringType, Optional: true, MarkdownDescription: description, Validators: []validator.Map{mapvalidator.NoNullValues()},
	}
}
