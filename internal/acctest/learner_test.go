// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import "testing"

// A learner is promoted in place. It is demoted by a replacement: its machine stays, and
// the join script sets the data of the voter aside.
func TestAccStandby(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{})
	f.Form()
	f.Add("d")
	f.Nodes["d"].Joins = "learner"
	f.Apply().MustSucceed().MustBeQuiet()
	f.MustList("a", "b", "c", "d (learner)")
	f.Settled()
	before := f.MemberIDs()
	f.Nodes["d"].Promote = true
	f.Plan().MustDo(map[string]string{Address("etcd_learner", "d"): "update"})
	f.Form()
	f.Settled()
	f.MustHaveReplaced(before)
	f.Nodes["d"].Promote = false
	f.Plan().MustDo(map[string]string{Address("etcd_learner", "d"): "delete create"})
	f.Apply().MustSucceed()
	f.MustList("a", "b", "c", "d (learner)")
	f.MustHaveReplaced(before, "d")
	f.Settled()
}
