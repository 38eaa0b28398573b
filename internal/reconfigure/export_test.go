// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"context"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// Undecidable is undecidable.
var Undecidable = undecidable

// Lock takes the lock of this process, so that other operations wait.
func (b *ProcessState) Lock(ctx context.Context, id membership.ClusterID) (unlock func(), err error) {
	return b.lock(ctx, id, "be tested")
}
