// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package machinetest

import (
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

func TestMachines(t *testing.T) {
	need(t)
	t.Run("static", life)
}

func life(t *testing.T) {
	c := newCluster(t, "static", "3.6")
	c.apply()
	c.mustStand()
	for name := range c.nodes {
		c.mustHaveBooted(name)
	}
	c.Destroy().MustSucceed()
	if left := c.cloud.all(); len(left) != 0 {
		t.Errorf("machines after destroy: %v", left)
	}
}

// mustHaveBooted fails the test unless systemd and cloud-init have done all that
// they were to do.
func (c *cluster) mustHaveBooted(name string) {
	c.t.Helper()
	etcdtest.Until(c.t, name+" has booted", func() bool {
		status, _ := c.cloud.machine(name).run("cloud-init", "status")
		return !strings.Contains(status, "running")
	})
	if status := c.on(name, "cloud-init", "status", "--long"); !strings.Contains(status, "status: done") {
		c.t.Errorf("%s: cloud-init says\n%s", name, status)
	}
	if failed := c.on(name, "systemctl", "list-units", "--failed", "--no-legend", "--plain"); failed != "" {
		c.t.Errorf("%s: units that failed:\n%s", name, failed)
	}
}
