// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure_test

import (
	"errors"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// Leave does not wait for a long timeout if the whole cluster is gone.
func TestLeaveOfADeadClusterEndsSoon(t *testing.T) {
	t.Parallel()
	b := start(t, 1, etcdtest.Options{})
	r := b.leaveRequest(t, "infra1")
	b.Member("infra1").PowerOff()
	ctx := etcdtest.WaitContext(t)
	_, err := b.engine.Leave(ctx, r)
	var gone *connection.Unreachable
	if !errors.As(err, &gone) || ctx.Err() != nil {
		t.Fatalf("got %v, want that nobody answers", err)
	}
}
