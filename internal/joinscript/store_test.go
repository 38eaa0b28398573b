// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package joinscript

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/must"
)

// Test that etcd of every version refuses to start on a store that differs from that of its
// peers, until the user turns the check off, and that it never keeps a healthy cluster down:
// whether one member starts before the others or all at once, of which none serves yet.
func TestDamagedStore(t *testing.T) {
	t.Parallel()
	eachVersion(t, func(t *testing.T, v etcdtest.Version, sh shell) {
		members := staticFounders(t, sh, v, 3)
		for _, p := range members {
			// 3.5 reads who its peers are from a snapshot of its log, so late.
			p.Env["ETCD_SNAPSHOT_COUNT"] = "5"
			p.Supervise(supervised)
		}
		ready(t, members...)
		a, c := members[0], members[2]
		client := a.Client(t)
		for range 20 {
			_, err := client.Put(etcdtest.WaitContext(t), "k", "a sound value")
			must.Succeed(t, err)
		}
		database := filepath.Join(c.Dir(), "member", "snap", "db")
		etcdtest.Until(t, "c has stored the value, and a snapshot", func() bool {
			snapshots, _ := filepath.Glob(filepath.Join(c.Dir(), "member", "snap", "*.snap"))
			return len(snapshots) > 0 && strings.Contains(must.Read(t, database), "a sound value")
		})

		for _, p := range members {
			p.PowerOff()
		}
		a.Supervise(supervised)
		logged(t, a, "initial corruption checking passed")
		for _, p := range members[1:] {
			p.Supervise(supervised)
		}
		ready(t, members...)
		for _, p := range members {
			p.PowerOff()
		}
		for _, p := range members {
			p.Supervise(supervised)
		}
		ready(t, members...)

		c.PowerOff()
		must.Write(t, database, strings.ReplaceAll(must.Read(t, database), "a sound value", "a wrong value"))
		starts := c.Starts()
		c.Supervise(supervised)
		logged(t, c, "found data inconsistency with peers")
		etcdtest.Until(t, "c is started again", func() bool { return c.Starts() > starts+1 })
		c.PowerOff()
		if n := strings.Count(c.Log(), "found data inconsistency with peers"); n < c.Starts()-starts-1 {
			t.Errorf("c was started %d times on a damaged store, and refused it %d times", c.Starts()-starts, n)
		}
		c.Env["ETCD_FEATURE_GATES"] = "InitialCorruptCheck=false"
		c.Supervise(supervised)
		ready(t, members...)
	})
}
