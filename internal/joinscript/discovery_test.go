// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package joinscript

import (
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// realRegistry is a discovery cluster on a real etcd.
type realRegistry struct {
	process  *etcdtest.Process
	protocol string
}

func newRealRegistry(t *testing.T, protocol string, v etcdtest.Version) *realRegistry {
	t.Helper()
	c := etcdtest.Start(t, 1, etcdtest.Options{Names: []string{"registry"}, Version: v, V2: protocol == "v2"})
	return &realRegistry{process: c.Members()[0], protocol: protocol}
}

// token creates a token of size three.
func (g *realRegistry) token(t *testing.T, token string) map[string]string {
	t.Helper()
	if g.protocol == "v3" {
		if _, err := g.process.Client(t).Put(t.Context(), "/_etcd/registry/"+token+"/_config/size", "3"); err != nil {
			t.Fatal(err)
		}
		return map[string]string{"ETCD_DISCOVERY_TOKEN": token, "ETCD_DISCOVERY_ENDPOINTS": g.process.ClientURL()}
	}
	g.v2(t, http.MethodPut, "/_etcd/registry/"+token+"/_config/size", "3")
	return map[string]string{"ETCD_DISCOVERY": g.process.ClientURL() + "/v2/keys/_etcd/registry/" + token, "ETCD_DISCOVERY_FALLBACK": "exit"}
}

// v2 changes a key of v2, which exists or does not.
func (g *realRegistry) v2(t *testing.T, method, key, value string) {
	t.Helper()
	request, err := http.NewRequestWithContext(etcdtest.WaitContext(t), method, g.process.ClientURL()+"/v2/keys"+key, strings.NewReader(url.Values{"value": {value}}.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode >= 300 && response.StatusCode != http.StatusNotFound {
		t.Fatalf("the registry answers %s", response.Status)
	}
}

// founders returns three machines with the environment of a token, and with
// etcd where the script expects it.
func founders(t *testing.T, sh shell, v etcdtest.Version, env map[string]string) (a, b, c *etcdtest.Process) {
	t.Helper()
	var all []*etcdtest.Process
	for _, name := range []string{"a", "b", "c"} {
		p := etcdtest.NewProcess(t, etcdtest.Options{Name: name, Version: v, Env: env})
		p.Env["ETCD_JOIN_BIN"] = t.TempDir()
		if err := os.Symlink(etcdtest.Binary(t, v), filepath.Join(p.Env["ETCD_JOIN_BIN"], "etcd")); err != nil {
			t.Fatal(err)
		}
		sh.before(t, p)
		all = append(all, p)
	}
	return all[0], all[1], all[2]
}

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
	for _, sh := range shells(t) {
		for i, one := range combinations {
			// Each under one shell, or all under dash and two under the others.
			if !sh.due(i) || sh.index > 0 && etcdtest.Full() && i != 0 && i != 4 {
				continue
			}
			name := fmt.Sprintf("%s registry %s members %s %s", one.protocol, one.registry, one.members, sh.name)
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				sh.must(t)
				g := newRealRegistry(t, one.protocol, one.registry)
				t.Run("life", func(t *testing.T) { discoveryLife(t, g, sh, one.members) })
				t.Run("rescue", func(t *testing.T) { discoveryRescue(t, g, sh, one.members) })
			})
		}
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

// discoveryLife forms a cluster of three. One member is wiped, refused, removed
// and added again, always with the environment of the token, which is retired.
func discoveryLife(t *testing.T, g *realRegistry, sh shell, v etcdtest.Version) {
	env := g.token(t, "life")
	a, b, c := founders(t, sh, v, env)
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
	a.Kill()
	ready(t, a)

	never(t, c)
	// Without the discovery cluster, no server can be asked, so it waits. With
	// a peer from another source, the result is definite again.
	g.process.Freeze()
	defer g.process.Thaw()
	c.Wipe()
	c.Supervise(supervised)
	logged(t, c, "etcd-join: the discovery cluster does not answer: ")
	c.Env["ETCD_JOIN_PEERS"] = b.PeerURL()
	never(t, c)
	remove(t, client, c)
	c.Supervise(supervised)
	logged(t, c, "etcd-join: not added yet")
	t.Logf("announced and not started: %v", admit(t, client, c))
	oneCluster(t, 3, client, a, b, c)
	c.Kill()
	ready(t, c)
	g.process.Thaw()
	discoveryJoiner(t, g, sh, v, env, client, a, b, c)
}

// mustBeFounded expects that the initial members of a token have formed the
// cluster, with the same IDs for any versions and any way of starting, and that
// the discovery cluster has one entry for each.
func mustBeFounded(t *testing.T, g *realRegistry, token string, founders ...*etcdtest.Process) {
	t.Helper()
	client := founders[0].Client(t)
	oneCluster(t, len(founders), client, founders...)
	var ids []membership.MemberID
	want := map[string]string{}
	for _, p := range founders {
		id := membership.ComputeMemberID([]string{p.PeerURL()}, token, nil)
		if got, _ := listed(t, client, p); got != uint64(id) {
			t.Errorf("%s is member %x, want %s", p.Name, got, id)
		}
		ids = append(ids, id)
		want[fmt.Sprintf("/_etcd/registry/%s/members/%x", token, uint64(id))] = p.Name + "=" + p.PeerURL()
	}
	list, err := client.MemberList(etcdtest.WaitContext(t))
	if err != nil {
		t.Fatal(err)
	}
	if want := membership.ComputeClusterID(ids); list.Header.ClusterId != uint64(want) {
		t.Errorf("the cluster is %x, want %s", list.Header.ClusterId, want)
	}
	registered, err := g.process.Client(t).Get(etcdtest.WaitContext(t), "/_etcd/registry/"+token+"/members/", clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, kv := range registered.Kvs {
		got[string(kv.Key)] = string(kv.Value)
	}
	if !maps.Equal(got, want) {
		t.Errorf("registered are %v, want %v", got, want)
	}
}

// discoveryJoiner starts a fourth member without known addresses. It reads the
// initial members from the discovery cluster and does not modify it, whatever
// other discovery variables it has.
func discoveryJoiner(t *testing.T, g *realRegistry, sh shell, v etcdtest.Version, env map[string]string, client *clientv3.Client, formed ...*etcdtest.Process) {
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

// waiting returns the log line of an initial member that has registered.
func waiting(g *realRegistry, v etcdtest.Version) string {
	switch {
	case g.protocol == "v2":
		return "waiting for more"
	case v == etcdtest.V34 || v == etcdtest.V35:
		return "etcd-join: registered: waiting for the other initial members"
	default:
		return "waiting for peers from discovery service"
	}
}

// discoveryRescue kills two initial members while they wait for the third. etcd
// would reject them as duplicates (v2), but the script admits them, before and
// after the third has formed a cluster.
func discoveryRescue(t *testing.T, g *realRegistry, sh shell, v etcdtest.Version) {
	env := g.token(t, "rescue")
	a, b, c := founders(t, sh, v, env)
	for _, p := range []*etcdtest.Process{b, c} {
		p.Start()
		logged(t, p, waiting(g, v))
		p.PowerOff()
	}
	c.Wipe()
	a.Supervise(supervised)
	// From now on a is registered, and its peer port shows when it forms the cluster.
	etcdtest.Until(t, "a forms the cluster", func() bool {
		resp, err := http.Get(a.PeerURL() + "/members")
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	b.Supervise(supervised)
	ready(t, a, b)
	c.Supervise(supervised)
	// If etcd was started, it may have voted: it waits until it is added as a learner.
	// With a token of v3, older versions were not started: the script registered them.
	if !strings.HasPrefix(waiting(g, v), "etcd-join: ") {
		logged(t, c, "etcd was started here before")
		remove(t, a.Client(t), c)
		admit(t, a.Client(t), c)
	}
	ready(t, c)
	oneCluster(t, 3, a.Client(t), a, b, c)
	if !strings.Contains(b.Log(), "etcd-join: starting with the initial members of the token") {
		t.Error("b did not start with the initial members of the token")
	}
	if !strings.Contains(c.Log(), "etcd-join: added to the cluster: starting") {
		t.Error("c did not take its place in the cluster that had formed")
	}
	never(t, c)
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
			pki := etcdtest.NewPKI(t)
			registry := etcdtest.Start(t, 1, etcdtest.Options{Names: []string{"registry"}, Version: v, TLS: pki, Password: "the-root",
				Env: map[string]string{"ETCD_BCRYPT_COST": "4"}})
			g := &realRegistry{process: registry.Members()[0], protocol: "v3"}
			const password = "pass'\"\\w:rd"
			client := registry.Client(t)
			// Without a password, the user is the common name of a certificate.
			for user, secret := range map[string]string{"by-password": "--new-user-password=" + password, "by-certificate": "--no-password"} {
				for _, args := range [][]string{
					{"role", "add", user}, {"role", "grant-permission", user, "--prefix=true", "readwrite", "/_etcd/registry/"}, {"user", "add", user, secret}, {"user", "grant-role", user, user},
				} {
					if _, err := registry.Etcdctl(args...); err != nil {
						t.Fatal(err)
					}
				}
			}

			try := func(token string, cert etcdtest.Cert, env ...string) (result, string) {
				t.Helper()
				p := etcdtest.NewProcess(t, etcdtest.Options{Name: "us", Version: etcdtest.V35, Env: map[string]string{
					"ETCD_DISCOVERY_TOKEN": token, "ETCD_DISCOVERY_ENDPOINTS": g.process.ClientURL(),
					"ETCD_DISCOVERY_CACERT": pki.CAFile, "ETCD_DISCOVERY_CERT": cert.CertFile, "ETCD_DISCOVERY_KEY": cert.KeyFile,
				}})
				if _, err := client.Put(t.Context(), "/_etcd/registry/"+token+"/_config/size", "1"); err != nil {
					t.Fatal(err)
				}
				r := asks(t, sh, p, append([]string{patience}, env...)...)
				if strings.Contains(r.stdout+r.stderr, password) {
					t.Error("the script prints the password")
				}
				id := membership.ComputeMemberID([]string{p.PeerURL()}, token, nil)
				got, err := client.Get(t.Context(), "/_etcd/registry/"+token+"/members/", clientv3.WithPrefix())
				if err != nil {
					t.Fatal(err)
				}
				want := 0
				if r.code == 0 {
					want = 1
				}
				if len(got.Kvs) != want || want == 1 && (string(got.Kvs[0].Key) != fmt.Sprintf("/_etcd/registry/%s/members/%x", token, uint64(id)) || string(got.Kvs[0].Value) != "us="+p.PeerURL()) {
					t.Errorf("%s: registered are %v", token, got.Kvs)
				}
				return r, strings.ReplaceAll(started(token, "us="+p.PeerURL()), own, p.PeerURL())
			}
			const starts, refuses = "starting with the initial members of the token", "its HTTP gateway refuses a client certificate with a common name. Install etcdctl"
			named, unnamed := pki.Client("by-certificate"), pki.Peer
			user := []string{"ETCD_DISCOVERY_USER=by-password", "ETCD_DISCOVERY_PASSWORD=" + password}

			r, want := try("no-name", unnamed, user...)
			r.want(t, 0, want, starts)
			r, want = try("one-variable", unnamed, "ETCD_DISCOVERY_USER=by-password:"+password)
			r.want(t, 0, want, starts)
			r, _ = try("wrong", unnamed, user[0], "ETCD_DISCOVERY_PASSWORD=wrong")
			r.want(t, exitRetry, "", "the discovery cluster does not answer: ")
			r, _ = try("no-user", unnamed)
			r.want(t, exitRetry, "", "the discovery cluster does not answer: "+g.process.ClientURL()+": HTTP status ")
			r, _ = try("name", named)
			r.want(t, exitRetry, "", refuses)
			r, _ = try("name-and-user", named, user...)
			r.want(t, exitRetry, "", refuses)
			for k, ctl := range etcdtest.Versions() {
				if k%2 != i && !etcdtest.Full() {
					continue
				}
				bin, args := withEtcdctl(t, ctl)
				token := "etcdctl-" + string(ctl)
				r, want := try(token, named, "ETCD_JOIN_BIN="+bin)
				r.want(t, 0, want, starts)
				r, want = try(token+"-and-user", pki.Client("nobody"), append(user, "ETCD_JOIN_BIN="+bin)...)
				r.want(t, 0, want, starts)
				r, _ = try(token+"-for-nobody", pki.Client("nobody"), "ETCD_JOIN_BIN="+bin)
				r.want(t, exitRetry, "", refuses+"; etcdctl: etcdserver: permission denied")
				if said, err := os.ReadFile(args); err != nil || strings.Contains(string(said), password) {
					t.Errorf("etcdctl is called with the password, or not at all: %q, %v", said, err)
				}
			}
			// etcdctl may also be on PATH.
			bin, _ := withEtcdctl(t, v)
			sh.path = strings.TrimPrefix(bin+":"+sh.path, ":")
			r, want = try("on-path", named)
			r.want(t, 0, want, starts)
		})
	}
}

// withEtcdctl returns a directory with etcdctl, and the file to which it writes
// its arguments.
func withEtcdctl(t *testing.T, v etcdtest.Version) (dir, args string) {
	t.Helper()
	real, err := exec.LookPath(etcdtest.EtcdctlBinary(t, v))
	if err != nil {
		t.Fatal(err)
	}
	args = filepath.Join(t.TempDir(), "args")
	return tools(t, map[string]string{"etcd": hurried["etcd"], "etcdctl": "#!/bin/sh\nprintf '%s\\n' \"$*\" >>" + args + "\nexec " + real + " \"$@\"\n"}), args
}
