// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package bootstrap

import (
	"context"
	"encoding/json"

	"github.com/hashicorp/terraform-plugin-framework/diag"
)

// PrivateReader is private data that can be read.
type PrivateReader interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
}

// PrivateWriter is private data that can be written.
type PrivateWriter interface {
	SetKey(ctx context.Context, key string, value []byte) diag.Diagnostics
}

// Keep leaves a value in the private data, as JSON.
func Keep(ctx context.Context, private PrivateWriter, key string, value any) diag.Diagnostics {
	text, err := json.Marshal(value)
	if err != nil {
		return diag.Diagnostics{diag.NewErrorDiagnostic("Private data", err.Error())}
	}
	return private.SetKey(ctx, key, text)
}

// Kept returns what [Keep] left, nil if it left nothing.
func Kept[T any](ctx context.Context, private PrivateReader, key string) (*T, diag.Diagnostics) {
	text, diags := private.GetKey(ctx, key)
	if len(text) == 0 || diags.HasError() {
		return nil, diags
	}
	value := new(T)
	if err := json.Unmarshal(text, value); err != nil {
		diags.AddError("Private data", err.Error())
		return nil, diags
	}
	return value, diags
}
