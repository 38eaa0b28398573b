// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package private stores values in the private data of a resource, as JSON.
package private

import (
	"context"
	"encoding/json"

	"github.com/hashicorp/terraform-plugin-framework/diag"
)

// Reader is private data that can be read.
type Reader interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
}

// Writer is private data that can be written.
type Writer interface {
	SetKey(ctx context.Context, key string, value []byte) diag.Diagnostics
}

// Keep stores a value in the private data.
func Keep(ctx context.Context, to Writer, key string, value any, diags *diag.Diagnostics) {
	text, err := json.Marshal(value)
	if err != nil {
		diags.AddError("Private data", err.Error())
		return
	}
	diags.Append(to.SetKey(ctx, key, text)...)
}

// Kept returns the value that [Keep] stored, or the zero value.
func Kept[T any](ctx context.Context, from Reader, key string, diags *diag.Diagnostics) (value T) {
	text, d := from.GetKey(ctx, key)
	diags.Append(d...)
	if len(text) == 0 {
		return value
	}
	if err := json.Unmarshal(text, &value); err != nil {
		diags.AddError("Private data", err.Error())
	}
	return value
}
