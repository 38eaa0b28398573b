// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package joinscript

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

func TestDiscovery(t *testing.T) {
	t.Parallel()
	type combination struct {
		protocol          string
		registry, members etcdtest.Version
	}
	combinations := []combination{
		{"v2", etcdtest.V35, etcdtest.V35},
		{"v2", etcdtest.V35, etcdtest.V36},
		{"v3", etcdtest.V36, etcdtest.V34},
		{"v3", etcdtest.V35, etcdtest.V37},
		{"v3", etcdtest.V37, etcdtest.V35},
	}
	for i, one := range combinations {
		t.Run(fmt.Sprintf("%s registry %s members %s", one.protocol, one.registry, one.members), func(t *testing.T) {
			t.Parallel()
			sh, g := nth(t, i), newRegistry(t, one.protocol, one.registry)
			discoveryLife(t, g, sh, one.members)
		})
	}
}

// listening waits until something accepts connections at the peer URLs.
func listening(t *testing.T, all ...*etcdtest.Process) {
	t.Helper()
	for _, p := range all {
		etcdtest.Eventually(t, p.PeerURL()+" accepts connections", func() error {
			conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(p.PeerURL(), "http://"))
			if err == nil {
				err = conn.Close()
			}
			return err
		})
	}
}

// discoveryLife forms a cluster of three by a token that the provider makes, and in which it
// finds the members. One member is wiped, refused, removed and added again, always with the
// environment of the token. In the end the provider deletes all that the members registered.
func discoveryLife(t *testing.T, g *registry, sh shell, v etcdtest.Version) {
	provided, ctx := g.provided(t), etcdtest.WaitContext(t)
	_, err := provided.Create(ctx, "life", 3)
	must.Succeed(t, err)
	env := g.env("life")
	all := machines(t, sh, v, 3, env)
	a, b, c := all[0], all[1], all[2]
	a.Supervise(supervised)
	b.Supervise(supervised)
	// The last one knows the others, whose etcd waits for it.
	if _, registers := env["ETCD_DISCOVERY"]; registers || v != etcdtest.V34 && v != etcdtest.V35 {
		listening(t, a, b)
	}
	c.Env["ETCD_JOIN_PEERS"] = a.PeerURL() + "," + b.PeerURL()
	c.Supervise(supervised)
	ready(t, a, b, c)
	delete(c.Env, "ETCD_JOIN_PEERS")
	client := a.Client(t)
	oneCluster(t, 3, client, a, b, c)
	if g.protocol == "v3" {
		mustBeFounded(t, g, "life", a, b, c)
	}
	status, err := provided.Status(ctx, "life")
	if err != nil || !status.Complete() {
		t.Errorf("the token has %+v, %v", status, err)
	}
	for _, m := range status.Members {
		if i := slices.IndexFunc(all, func(p *etcdtest.Process) bool { return p.Name == m.Name }); i < 0 || !slices.Equal(m.PeerURLs, []string{all[i].PeerURL()}) {
			t.Errorf("registered is %+v", m)
		}
	}
	a.Kill()
	ready(t, a)

	// The registry is not needed any more, with a peer from another source.
	g.process.Freeze()
	defer g.process.Thaw()
	c.Env["ETCD_JOIN_PEERS"] = b.PeerURL()
	never(t, c)
	remove(t, client, c)
	c.Supervise(supervised)
	logged(t, c, "etcd-join: not added yet")
	admit(t, client, c)
	oneCluster(t, 3, client, a, b, c)
	c.Kill()
	ready(t, c)
	g.process.Thaw()
	discoveryJoiner(t, g, sh, v, env, client, a, b, c)
	must.Succeed(t, provided.Delete(ctx, "life"))
	_, err = provided.Create(ctx, "life", 1) // its place is empty
	must.Succeed(t, err)
}

// mustBeFounded expects that the members of a cluster and the cluster have the IDs that
// follow from the token, for any versions and any way of starting, and one registration each.
func mustBeFounded(t *testing.T, g *registry, token string, founders ...*etcdtest.Process) {
	t.Helper()
	list, err := founders[0].Client(t).MemberList(etcdtest.WaitContext(t))
	must.Succeed(t, err)
	var ids []membership.MemberID
	var want []string
	for _, p := range founders {
		id := membership.ComputeMemberID([]string{p.PeerURL()}, token)
		if !slices.ContainsFunc(list.Members, func(m *etcdserverpb.Member) bool { return m.ID == uint64(id) && m.PeerURLs[0] == p.PeerURL() }) {
			t.Errorf("%s is not member %s: %v", p.Name, id, list.Members)
		}
		ids = append(ids, id)
		want = append(want, fmt.Sprintf("%s%s/members/%x %s=%s", prefix, token, uint64(id), p.Name, p.PeerURL()))
	}
	if want := membership.ComputeClusterID(ids); list.Header.ClusterId != uint64(want) {
		t.Errorf("the cluster is %x, want %s", list.Header.ClusterId, want)
	}
	if got := g.members(t, token); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		t.Errorf("registered are %q, want %q", got, want)
	}
}

// discoveryJoiner starts a fourth member without known addresses. It reads the
// initial members from the discovery cluster and does not modify it, whatever
// other discovery variables it has.
func discoveryJoiner(t *testing.T, g *registry, sh shell, v etcdtest.Version, env map[string]string, client *clientv3.Client, formed ...*etcdtest.Process) {
	joins := map[string]string{
		"ETCD_INITIAL_CLUSTER_STATE": "existing", "ETCD_DISCOVERY_CACERT": "/nowhere", "ETCD_DISCOVERY_USER": "nobody:nothing",
	}
	for key, value := range env {
		if key != "ETCD_DISCOVERY_FALLBACK" {
			joins[strings.Replace(key, "ETCD_", "ETCD_JOIN_", 1)] = value
		}
	}
	if g.protocol == "v3" {
		delete(joins, "ETCD_DISCOVERY_CACERT") // curl reads the file
	}
	d := etcdtest.NewProcess(t, etcdtest.Options{Name: "d", Version: v, Env: joins})
	sh.before(t, d)
	d.Supervise(supervised)
	logged(t, d, "etcd-join: not added yet")
	admit(t, client, d)
	oneCluster(t, 4, client, append(formed, d)...)
}

// Test a discovery cluster with TLS and authentication. Its HTTP gateway
// accepts a client certificate without a common name, and a user. A common name
// is a user only over gRPC, which requires etcdctl.
func TestRegistryWithAuthentication(t *testing.T) {
	t.Parallel()
	for i, v := range []etcdtest.Version{etcdtest.V36, etcdtest.V37} {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			sh := nth(t, i)
			sh.script = Discovery()
			pki := etcdtest.NewPKI(t)
			c := etcdtest.Start(t, 1, etcdtest.Options{Names: []string{"registry"}, Version: v, TLS: pki, Password: "the-root",
				Env: map[string]string{"ETCD_BCRYPT_COST": "4"}})
			g := &registry{process: c.Members()[0], protocol: "v3", client: c.Client(t)}
			const password = "secret'\"\\w:rd"
			// Without a password, the user is the common name of a certificate.
			for user, secret := range map[string]string{"by-password": "--new-user-password=" + password, "by-certificate": "--no-password"} {
				for _, args := range [][]string{
					{"role", "add", user}, {"role", "grant-permission", user, "--prefix=true", "readwrite", prefix}, {"user", "add", user, secret}, {"user", "grant-role", user, user},
				} {
					_, err := c.Etcdctl(args...)
					must.Succeed(t, err)
				}
			}
			try := func(sh shell, cert etcdtest.Cert, words, outcome string) {
				t.Helper()
				newScene(t, sh, g, "v3", rowOf(fmt.Sprintf("%s|initial T=1: ETCD_DISCOVERY_ENDPOINTS=$registry ETCD_DISCOVERY_CACERT=%s ETCD_DISCOVERY_CERT=%s ETCD_DISCOVERY_KEY=%s %s| | %s",
					words, pki.CAFile, cert.CertFile, cert.KeyFile, words, outcome))).play()
			}
			const starts = "start new | starting with the initial members of the token | prints us=$own; registered us=$own"
			const refuses = "wait | its HTTP gateway refuses a client certificate with a common name. Install etcdctl"
			const user, silent = "ETCD_DISCOVERY_USER=by-password ETCD_DISCOVERY_PASSWORD=", "wait | the discovery cluster does not answer: $registry: "
			named, unnamed, nobody := pki.Client("by-certificate"), pki.Peer, pki.Client("nobody")
			try(sh, unnamed, user+password, starts)
			try(sh, unnamed, "ETCD_DISCOVERY_USER=by-password:"+password, starts)
			try(sh, unnamed, user+"wrong", silent+"| registered")
			try(sh, unnamed, "", silent+"HTTP status | registered")
			try(sh, named, "", refuses+"| registered")
			try(sh, named, user+password, refuses+"| registered")
			for k, ctl := range etcdtest.Versions() {
				if k%2 != i && !etcdtest.Full() {
					continue
				}
				bin, args := withEtcdctl(t, ctl)
				try(sh, named, "ETCD_JOIN_BIN="+bin, starts)
				try(sh, nobody, user+password+" ETCD_JOIN_BIN="+bin, starts)
				try(sh, nobody, "ETCD_JOIN_BIN="+bin, refuses+"; etcdctl: etcdserver: permission denied | registered")
				if said, err := os.ReadFile(args); err != nil || strings.Contains(string(said), password) {
					t.Errorf("etcdctl is called with the password, or not at all: %q, %v", said, err)
				}
			}
			// etcdctl may also be on PATH.
			bin, _ := withEtcdctl(t, v)
			sh.path = strings.TrimPrefix(bin+":"+sh.path, ":")
			try(sh, named, "", starts)
		})
	}
}

// withEtcdctl returns a directory with etcdctl, and the file to which it writes
// its arguments.
func withEtcdctl(t *testing.T, v etcdtest.Version) (dir, args string) {
	t.Helper()
	real, err := exec.LookPath(etcdtest.EtcdctlBinary(t, v))
	must.Succeed(t, err)
	args = filepath.Join(t.TempDir(), "args")
	return tools(t, map[string]string{"etcd": hurried["etcd"], "etcdctl": "#!/bin/sh\nprintf '%s\\n' \"$*\" >>" + args + "\nexec " + real + " \"$@\"\n"}), args
}
