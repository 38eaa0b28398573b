// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discoverytoken

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
)

// Flags in the resource's private state.
const (
	// flagRemoval: what is planned is a removal, not a part of a replacement.
	flagRemoval = "removal"
	// flagUnsure: it is not known whether the token was written.
	flagUnsure = "unsure"
	// flagUnwritten: the token was unsure, and the registry has it not.
	flagUnwritten = "unwritten"
)

// Values in the resource's private state.
const (
	// keyRecord holds the [record] of the token that is in the state.
	keyRecord = "record"
	// keyLeast holds the least size that the token has had, as far as is known.
	keyLeast = "least"
)

type privateReader interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
}

type privateWriter interface {
	SetKey(ctx context.Context, key string, value []byte) diag.Diagnostics
}

func flag(ctx context.Context, private privateReader, name string) (bool, diag.Diagnostics) {
	value, diags := private.GetKey(ctx, name)
	return string(value) == "true", diags
}

func setFlag(ctx context.Context, private privateWriter, name string, value bool) diag.Diagnostics {
	// Private state holds JSON.
	if value {
		return private.SetKey(ctx, name, []byte("true"))
	}
	return private.SetKey(ctx, name, []byte("false"))
}
