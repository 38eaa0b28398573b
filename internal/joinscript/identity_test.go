// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package joinscript

import (
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// asks runs the script once, without pauses, for the machine of p. The given
// variables override those of p.
func asks(t *testing.T, sh shell, p *etcdtest.Process, env ...string) result {
	t.Helper()
	var all []string
	for key, value := range p.Env {
		all = append(all, key+"="+value)
	}
	return sh.run(t, append(all, env...)...)
}

// formed returns the n members of a static cluster that has formed.
func formed(t *testing.T, sh shell, v etcdtest.Version, n int) []*etcdtest.Process {
	t.Helper()
	members := staticFounders(t, sh, v, n)
	for _, p := range members {
		p.Supervise(supervised)
	}
	ready(t, members...)
	return members
}

// Test that a removed member with data is not started again after a majority of
// the others confirms its removal.
func TestRemovedMemberEnds(t *testing.T) {
	t.Parallel()
	eachVersion(t, versions, func(t *testing.T, v etcdtest.Version, sh shell) {
		members := formed(t, sh, v, 3)
		a, b, c := members[0], members[1], members[2]
		starts := c.Starts()
		remove(t, a.Client(t), c)
		logged(t, c, "was removed from the cluster")
		c.PowerOff()
		if again := c.Starts() - starts; again > 1 {
			t.Errorf("the removed %s was started %d times", c.Name, again)
		}
		asks(t, sh, c).want(t, exitRetry, "", "was removed from the cluster")
		// One of two voters is not a majority.
		b.PowerOff()
		asks(t, sh, c).want(t, 0, "", "")
		a.PowerOff()
		asks(t, sh, c).want(t, 0, "", "")
		for _, p := range members[:2] {
			p.Supervise(supervised)
		}
		ready(t, a, b)
		// It is added again on the same machine, which still has its data.
		c.Supervise(supervised)
		admit(t, a.Client(t), c)
		oneCluster(t, 3, a.Client(t), c)
	})
}
