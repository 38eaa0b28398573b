// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// A member is added anew only if it never started, or is gone for us and for the leader.
func TestOnlyAGoneMemberIsAddedAnew(t *testing.T) {
	for name, c := range map[string]struct {
		silent, unseen membership.MemberID // for us, and for the leader
		learner        bool
		gone           bool
	}{
		"a voter that answers":                    {0, 2, false, false},
		"a voter that is silent for us":           {2, 0, false, false},
		"a voter that is silent":                  {2, 2, false, true},
		"a learner that never started":            {2, 0, true, true},
		"a leader, which no other leader can see": {1, 1, false, false},
	} {
		f, e := fakeCluster()
		f.down = func() membership.MemberID { return c.silent }
		id := max(c.silent, membership.MemberID(2))
		if c.silent == 1 {
			id = 1
		}
		if c.learner {
			f.members[1] = membership.Member{ID: 2, Learner: true, PeerURLs: peerURL("b")}
		}
		snap, err := e.observe(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		f.down = func() membership.MemberID { return c.unseen }
		if err := e.isGone(t.Context(), snap, id); (err == nil) != c.gone {
			t.Errorf("%s: %v", name, err)
		}
	}
}
