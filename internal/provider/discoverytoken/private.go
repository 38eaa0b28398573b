// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discoverytoken

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/private"
)

// keptKey is the key of what the resource keeps in its private data.
const keptKey = "kept"

// kept is what the resource keeps beside its state.
type kept struct {
	// Removal is true if a removal is planned that is not a part of a replacement.
	Removal bool `json:"removal,omitempty"`
	// Unsure is true if it is not known whether the token was written. Unwritten is true
	// if the discovery cluster does not have it.
	Unsure    bool `json:"unsure,omitempty"`
	Unwritten bool `json:"unwritten,omitempty"`
	// Record is the token in the state.
	Record *record `json:"record,omitempty"`
	// Least is the smallest known size that the token has had.
	Least int `json:"least,omitempty"`
}

func keptOf(ctx context.Context, from private.Reader, diags *diag.Diagnostics) kept {
	return private.Kept[kept](ctx, from, keptKey, diags)
}

func (k kept) store(ctx context.Context, to private.Writer, diags *diag.Diagnostics) {
	private.Keep(ctx, to, keptKey, k, diags)
}

// least returns the smallest size that a token in the state is known to have had.
func (k kept) least(m *model) int {
	switch {
	case k.Least <= 0:
		return m.size()
	case m.size() == 0:
		return k.Least // the size in the discovery cluster is not a number
	}
	return min(k.Least, m.size())
}
