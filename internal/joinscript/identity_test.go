// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package joinscript

import (
	"os"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// waits expects that the script does not start p, with these words.
func waits(t *testing.T, p *etcdtest.Process, words string) {
	t.Helper()
	starts := p.Starts()
	p.Supervise(supervised)
	etcdtest.Until(t, p.Name+" logs "+words+", or starts", func() bool {
		return strings.Contains(p.Log(), words) || p.Starts() != starts
	})
	p.PowerOff()
	if p.Starts() != starts {
		t.Fatalf("%s was started", p.Name)
	}
}

// joins gives p the environment of a new member of the cluster of others.
func joins(p *etcdtest.Process, peers string) {
	delete(p.Env, "ETCD_INITIAL_CLUSTER")
	delete(p.Env, WindowVariable)
	p.Env["ETCD_INITIAL_CLUSTER_STATE"], p.Env["ETCD_JOIN_PEERS"] = "existing", peers
}

// Test that ETCD_FORCE_NEW_CLUSTER recovers a single member, and never removes living ones:
// the voters that run, and those that have joined since.
func TestForcedNewCluster(t *testing.T) {
	t.Parallel()
	eachVersion(t, func(t *testing.T, v etcdtest.Version, sh shell) {
		members := runningFounders(t, sh, v, 3)
		a, b, c := members[0], members[1], members[2]
		// A forced start drops what b has not stored as committed: it has stored that of the
		// first write once it answers the third.
		for _, key := range []string{"k", "l", "m"} {
			_, err := b.Client(t).Put(etcdtest.WaitContext(t), key, "v")
			must.Succeed(t, err)
		}

		b.PowerOff()
		b.Env["ETCD_FORCE_NEW_CLUSTER"] = "true"
		joins(b, "") // only the data knows the other voters
		waits(t, b, "other voters may run at")
		b.Env["ETCD_CONFIG_FILE"] = "/etc/etcd/etcd.yaml"
		waits(t, b, "ETCD_CONFIG_FILE is set")
		delete(b.Env, "ETCD_CONFIG_FILE")
		oneCluster(t, 3, a.Client(t), a, c)

		a.PowerOff()
		c.PowerOff()
		b.Supervise(supervised)
		ready(t, b)
		client := b.Client(t)
		oneCluster(t, 1, client, b)
		got, err := client.Get(etcdtest.WaitContext(t), "k")
		must.Succeed(t, err)
		if len(got.Kvs) != 1 {
			t.Error("the recovered member does not have the key")
		}
		for _, p := range []*etcdtest.Process{a, c} {
			p.Wipe()
			joins(p, b.PeerURL())
			p.Supervise(supervised)
			admit(t, client, p)
		}

		// After a power loss, b comes first.
		for _, p := range members {
			p.PowerOff()
		}
		b.Supervise(supervised)
		etcdtest.Until(t, "b is started", func() bool { return b.PID() != 0 })
		if !strings.Contains(b.Log(), "starting without ETCD_FORCE_NEW_CLUSTER") {
			t.Fatal("b is started with ETCD_FORCE_NEW_CLUSTER again")
		}
		a.Supervise(supervised)
		c.Supervise(supervised)
		ready(t, members...)
		oneCluster(t, 3, client, members...)
	}, etcdtest.V37)
}

// Test that a machine never starts a copy of the disk of another member, and both ways out.
func TestCopiedDisk(t *testing.T) {
	t.Parallel()
	eachVersion(t, func(t *testing.T, v etcdtest.Version, sh shell) {
		members := runningFounders(t, sh, v, 3)
		a, b := members[0], members[1]
		d := etcdtest.NewProcess(t, etcdtest.Options{Name: "d", Version: v})
		d.Env["ETCD_JOIN_BIN"] = t.TempDir()
		link(t, d, "etcd", etcdtest.Binary(t, v))
		sh.before(t, d)
		joins(d, a.PeerURL()+","+b.PeerURL())
		copied := func() { must.Succeed(t, os.CopyFS(d.Dir(), os.DirFS(a.Dir()))) }

		a.PowerOff()
		copied()
		waits(t, d, "at "+a.PeerURL()+", and this is d")
		a.Supervise(supervised)
		ready(t, a)
		waits(t, d, "at "+a.PeerURL()+", which runs, and this is d")
		d.Wipe()
		waits(t, d, "etcd-join: not added yet")

		a.PowerOff()
		copied()
		a.Supervise(supervised)
		ready(t, a)
		d.Supervise(supervised)
		client := a.Client(t)
		admit(t, client, d)
		oneCluster(t, 4, client, append(members, d)...)
	}, etcdtest.V35)
}
