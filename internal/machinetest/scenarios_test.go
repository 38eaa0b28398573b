// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package machinetest

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// Each cluster is created, used and destroyed. The tests run one after the
// other, so that load does not affect the measurements.
func TestMachines(t *testing.T) {
	need(t)
	defer table.write(t)
	t.Run("static", static)
	t.Run("v3", discoveryV3)
	t.Run("v2", discoveryV2)
	t.Run("tls", certificates)
}

// static tests a cluster with a static bootstrap, and events in the life of machines.
func static(t *testing.T) {
	c := newCluster(t, "static", "3.6")
	c.fromNothing("static bootstrap")
	c.underWriter("growth from three to five", func() {
		c.add("d", "e")
		c.apply()
		c.mustStand()
	})
	c.underWriter("reboot of each of five", func() {
		for _, name := range slices.Sorted(maps.Keys(c.nodes)) {
			c.reboot(name)
		}
		c.mustStand()
	})
	c.underWriter("loss of power of all five", func() {
		machines := c.cloud.all()
		for _, m := range machines {
			c.must(m.powerOff())
		}
		for _, m := range machines {
			c.must(m.powerOn())
		}
		c.mustStand()
	})
	c.underWriter("shrink from five to three", func() {
		delete(c.nodes, "d")
		delete(c.nodes, "e")
		c.apply()
		c.mustStand()
	})
	c.underWriter("a wiped disk, which refuses", func() { c.mustRefuseToStart("b") })
	c.underWriter("replacement of the member with the wiped disk", func() {
		c.apply(`-replace=terraform_data.machine["b"]`)
		c.mustStand()
	})
	c.replacesAFailedMachine("c")
	c.rolls("3.7")
	c.destroys()
}

// mustRefuseToStart removes the data of a member. It fails the test unless
// systemctl status then shows the reason why etcd is not started.
func (c *cluster) mustRefuseToStart(name string) {
	c.t.Helper()
	m := c.cloud.machine(name)
	c.must(m.powerOff())
	data := filepath.Join(m.root(), "var", "lib", "etcd")
	if _, err := os.Stat(filepath.Join(data, "member", "wal")); err != nil {
		c.t.Fatalf("there is nothing to wipe: %v", err)
	}
	c.must(os.RemoveAll(data))
	c.must(m.powerOn())
	etcdtest.Eventually(c.t, "systemctl status says why etcd is not started", func() error {
		status, err := m.run("systemctl", "status", "--no-pager", "--full", "--lines=20", "etcd")
		for _, want := range []string{name + " (http", "has run before and its data is gone from /var/lib/etcd: replace the member"} {
			if !strings.Contains(status, want) {
				return errors.Join(fmt.Errorf("no %q in\n%s", want, status), err)
			}
		}
		return nil
	})
}

// replacesAFailedMachine switches a machine off permanently. A plan without
// -replace replaces the machine and its member.
func (c *cluster) replacesAFailedMachine(name string) {
	c.t.Helper()
	c.more["unreachable"] = "5s"
	c.apply()
	c.underWriter("replacement of a failed machine", func() {
		c.must(c.cloud.machine(name).powerOff())
		c.plan().MustDo(map[string]string{
			fmt.Sprintf("etcd_member.node[%q]", name):       "delete create",
			fmt.Sprintf("terraform_data.machine[%q]", name): "delete create",
			"etcd_cluster.this":                             "update",
		})
		c.apply()
		c.mustStand()
	})
	delete(c.more, "unreachable")
	c.apply()
}

// rolls changes the image of all machines. Each apply replaces one of them.
func (c *cluster) rolls(image string) {
	c.t.Helper()
	c.image = image
	c.underWriter("another image for all, "+fmt.Sprint(len(c.nodes))+" applies", func() {
		for range c.nodes {
			c.apply()
		}
		c.mustStand()
	})
	for name := range c.nodes {
		if version := c.on(name, "/usr/local/bin/etcd", "--version"); !strings.HasPrefix(version, "etcd Version: "+image+".") {
			c.t.Errorf("%s has\n%s", name, version)
		}
	}
}

// discoveryV3 tests a machine that boots late, and one that reboots during its join,
// with a discovery cluster from the same apply. The etcd of a lacks v3 discovery.
func discoveryV3(t *testing.T) {
	c := newCluster(t, "discovery", "3.6")
	c.more["registry"] = map[string]string{"address": c.cloud.address(10), "image": "3.6", "protocol": "v3"}
	c.nodes["a"].Image = "3.5"
	c.nodes["c"].Late = "20s"
	c.fromNothing("v3 discovery of etcd 3.5 and 3.6, a machine boots 20 s late")
	c.underWriter("reboot in the middle of a join", func() {
		c.add("d")
		c.save()
		client := c.client()
		run := c.Start("apply")
		etcdtest.Eventually(t, "the member is added, and its machine starts etcd", func() error {
			if run.Ended() {
				t.Fatalf("the apply has ended before\n%s", run.Wait())
			}
			members, err := c.members(client)
			if err != nil || len(members) == 3 {
				return errors.Join(fmt.Errorf("members %v", slices.Sorted(maps.Keys(members))), err)
			}
			state, err := c.cloud.machine("d").run("systemctl", "show", "--property=ActiveState", "--value", "etcd")
			if err != nil || state != "activating" && state != "active" {
				return errors.Join(fmt.Errorf("etcd is %q", state), err)
			}
			return nil
		})
		c.reboot("d", "--force", "--force") // at once, without stopping services
		run.Wait().MustSucceed()
		c.mustStand()
	})
	c.destroys()
}

func discoveryV2(t *testing.T) {
	c := newCluster(t, "discovery", "3.5")
	c.more["registry"] = map[string]string{"address": c.cloud.address(10), "image": "3.5", "protocol": "v2"}
	c.fromNothing("v2 discovery")
	c.destroys()
}

// fromNothing creates the cluster with one apply.
func (c *cluster) fromNothing(how string) {
	c.t.Helper()
	c.scenario("one apply from nothing: "+how, func() string {
		c.apply()
		c.mustStand()
		return ""
	})
	for name := range c.nodes {
		c.mustHaveBooted(name)
	}
}

func (c *cluster) destroys() {
	c.t.Helper()
	c.scenario("destroy", func() string {
		c.save()
		c.Destroy().MustSucceed()
		return ""
	})
	if left := slices.Sorted(maps.Keys(c.cloud.all())); len(left) != 0 {
		c.t.Errorf("machines that are left: %v", left)
	}
}

// mustHaveBooted fails the test unless systemd and cloud-init have completed
// the boot without failures.
func (c *cluster) mustHaveBooted(name string) {
	c.t.Helper()
	etcdtest.Until(c.t, name+" has booted", func() bool {
		status, _ := c.cloud.machine(name).run("cloud-init", "status")
		return !strings.Contains(status, "running")
	})
	if status := c.on(name, "cloud-init", "status", "--long"); !strings.Contains(status, "status: done") {
		c.t.Errorf("%s: cloud-init says\n%s", name, status)
	}
	c.on(name, "cloud-init", "schema", "--system")
	if failed := c.on(name, "systemctl", "list-units", "--failed", "--no-legend", "--plain"); failed != "" {
		c.t.Errorf("%s: units that failed:\n%s", name, failed)
	}
}

// reboot reboots a machine and returns when its etcd runs again.
func (c *cluster) reboot(name string, options ...string) {
	c.t.Helper()
	m := c.cloud.machine(name)
	etcdtest.Eventually(c.t, name+" runs", func() error {
		_, err := m.run("true")
		return err
	})
	// Do not check for the reboot on the machine: systemd stops processes there
	// when it shuts down, and nsenter then stops permanently.
	before := m.leader()
	etcdtest.Until(c.t, name+" takes the command to reboot", func() bool {
		_, err := m.run(append([]string{"systemctl", "reboot"}, options...)...)
		return err == nil || m.leader() != before
	})
	etcdtest.Until(c.t, name+" has rebooted", func() bool {
		now := m.leader()
		return now != 0 && now != before
	})
	etcdtest.Eventually(c.t, name+" runs etcd again", func() error {
		if state, err := m.run("systemctl", "is-active", "etcd"); err != nil {
			return fmt.Errorf("etcd is %q: %w", state, err)
		}
		return nil
	})
}

func (c *cluster) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}
