// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
)

// A machine with create_before_destroy applies that to its configuration too.
// The member is still removed first, and its successor is promoted before the
// old machine is destroyed.
func TestAccCreateBeforeDestroy(t *testing.T) {
	t.Parallel()
	f := acctest.NewFleet(t, acctest.FleetOptions{})
	f.Form()
	f.Write("order_override.tf", "resource \"terraform_data\" \"machine\" {\n  lifecycle {\n    create_before_destroy = true\n  }\n}\n")
	o := f.Apply("-replace=" + acctest.Address("etcd_member_config", "b")).MustSucceed()
	left, joined := o.At("apply_complete", acctest.Address("etcd_member", "b"), "delete"), o.At("apply_start", acctest.Address("etcd_member_config", "b"), "create")
	voted, destroyed := o.At("apply_complete", acctest.Address("etcd_member", "b"), "create"), o.At("apply_start", acctest.Address("terraform_data.machine", "b"), "delete")
	if left.After(joined) || voted.After(destroyed) {
		t.Errorf("left %v, next configuration %v, vote %v, machine destroyed %v", left, joined, voted, destroyed)
	}
	f.MustVote("a", "b", "c")
	f.Plan().MustBeEmpty()
}
