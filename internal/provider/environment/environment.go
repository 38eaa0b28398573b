// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package environment checks all ETCD_* variables that a machine gets. Every
// program that reads user data sees an accepted value as one line, so that a
// value cannot become a separate key.
package environment

import (
	"context"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// Unfit returns the first character of a value that user data must not contain,
// and whether there is one: a control character, another line break of YAML
// (U+0085, U+2028, U+2029), or a byte that is not UTF-8.
func Unfit(value string) (rune, bool) {
	for i, r := range value {
		notUTF8 := r == utf8.RuneError && !strings.HasPrefix(value[i:], string(r))
		if notUTF8 || unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp) {
			return r, true
		}
	}
	return 0, false
}

// IsName reports whether name is a valid name of a variable.
func IsName(name string) bool {
	return name != "" && (name[0] < '0' || name[0] > '9') &&
		strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}

// Problem returns the problem with the variables, nil if there is none.
func Problem(variables map[string]string) *text.Message {
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		if !IsName(name) {
			return new(text.New("Invalid name of a variable",
				"%q cannot be the name of a variable: expected letters, digits and \"_\", and no digit first, such as ETCD_NAME.", name))
		}
		if r, unfit := Unfit(variables[name]); unfit {
			return new(text.New("Invalid value of a variable", // without the value, which may be a secret
				"The value of %[1]s holds the character %[2]U. User data must not hold control characters and line breaks, because they can end a value there. "+
					"Remove the character from the argument that sets %[1]s.", name, r))
		}
	}
	return nil
}

// Map returns the variables as the value of the attribute environment. It makes
// every attribute with variables for a machine.
func Map(ctx context.Context, variables map[string]string, diags *diag.Diagnostics) types.Map {
	if t := Problem(variables); t != nil {
		report.ErrorOn(diags, "environment", *t)
		return types.MapNull(types.StringType)
	}
	m, d := types.MapValueFrom(ctx, types.StringType, variables)
	diags.Append(d...)
	return m
}
