// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package joinscript

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

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
