// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package machinetest

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/must"
)

// hosts tests examples/hosts on machines that have booted before, with a login for
// Terraform and nothing of etcd.
func hosts(t *testing.T) {
	c := newHosts(t)
	mirror := c.more["releases"]
	c.more["releases"] = mirror.(string) + "/nowhere"
	c.on("c", "mkdir", "-p", "/var/lib/etcd/member")
	failed := c.Apply()
	for _, want := range []string{"cannot download etcd", "has the data of another member"} {
		if failed.ExitCode == 0 || !strings.Contains(failed.String(), want) {
			t.Fatalf("want an apply that ends in the middle of a provisioner: %s\n%s", want, failed)
		}
	}
	c.on("c", "rmdir", "/var/lib/etcd/member")
	c.more["releases"] = mirror
	if out := c.Apply().MustSucceed().String(); strings.Contains(out, "PRIVATE KEY") {
		t.Error("the apply prints a private key")
	}
	c.mustStand()

	c.underWriter("a new certificate", func() {
		before := c.on("b", "systemctl", "show", "--property=MainPID", "etcd")
		c.certs["b"] = c.pki.Host("b-renewed", c.nodes["b"].Address)
		c.Apply().MustSucceed()
		c.mustShow("b", c.certs["b"])
		if now := c.on("b", "systemctl", "show", "--property=MainPID", "etcd"); now != before {
			t.Errorf("etcd has started again: %s, before %s", now, before)
		}
	})
	c.underWriter("another version", func() {
		c.more["etcd_version"] = etcdtest.Release(t, etcdtest.V37)
		for _, name := range slices.Sorted(maps.Keys(c.nodes)) {
			if name == "c" { // no provisioner stops it, nor renames its data
				c.Run("taint", `terraform_data.host["c"]`).MustSucceed()
			}
			c.mustReplace(name)
			c.on(name, "sh", "-c", "ls -d /var/lib/etcd/removed-*/wal")
		}
	})
	c.underWriter("a host that was installed again, and has another key", func() {
		must.Succeed(c.t, c.cloud.destroy("b"))
		c.install("b")
		c.mustReplace("b", `-replace=terraform_data.host["b"]`)
	})

	c.Destroy().MustSucceed()
	for name := range c.nodes {
		c.on(name, "sh", "-c", "! pgrep -x etcd && test ! -e /etc/etcd/tls && ls -d /var/lib/etcd/removed-*/wal")
	}
}

// newHosts boots the hosts, and writes the example with certificates of the test.
func newHosts(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{t: t, cloud: newCloud(t), nodes: map[string]*node{}, pki: etcdtest.NewPKI(t), certs: map[string]etcdtest.Cert{}}
	c.more = map[string]any{
		"releases":     c.releases(etcdtest.V36, etcdtest.V37),
		"etcd_version": etcdtest.Release(t, etcdtest.V36),
		"ssh_key_file": c.pki.Client("ssh").KeyFile,
	}
	c.Workspace = acctest.NewWorkspace(t, acctest.WorkspaceOptions{})
	must.Succeed(c.t, os.CopyFS(c.Dir, os.DirFS(filepath.Join("..", "..", "examples", "hosts"))))
	must.Succeed(c.t, os.Remove(filepath.Join(c.Dir, "certificates.tf")))
	c.Write("main.tf", strings.Replace(c.Read("main.tf"), "    tls  = {", "    # tls  = {", 1))
	c.add("a", "b", "c")
	for name, n := range c.nodes {
		c.certs[name] = c.pki.Host(name, n.Address)
		c.install(name)
	}
	c.Prepare = c.saveHosts
	return c
}

// install boots a host.
func (c *cluster) install(name string) {
	c.t.Helper()
	userData, err := json.Marshal(map[string]any{
		"disable_root":        false,
		"ssh_authorized_keys": []string{publicKey(c.t, c.pki.Client("ssh"))},
		"runcmd":              [][]string{{"systemctl", "unmask", "ssh"}, {"systemctl", "enable", "--now", "ssh"}},
	})
	must.Succeed(c.t, err)
	must.Succeed(c.t, c.cloud.create(name, c.nodes[name].Address, "plain", "#cloud-config\n"+string(userData)))
	etcdtest.Eventually(c.t, name+" runs", func() error {
		_, err := c.cloud.machine(name).run("systemctl", "is-active", "ssh")
		return err
	})
	c.mustHaveBooted(name)
}

// saveHosts writes the variables and the certificates.
func (c *cluster) saveHosts() {
	c.t.Helper()
	root := c.pki.Client("root")
	certificates, keys := map[string]string{"root": must.Read(c.t, root.CertFile)}, map[string]string{"root": must.Read(c.t, root.KeyFile)}
	hosts := map[string]any{}
	for name, n := range c.nodes {
		certificates[name], keys[name] = must.Read(c.t, c.certs[name].CertFile), must.Read(c.t, c.certs[name].KeyFile)
		hosts[name] = map[string]string{"address": n.Address, "host_key": c.on(name, "cat", "/etc/ssh/ssh_host_ecdsa_key.pub")}
	}
	vars := map[string]any{"hosts": hosts}
	maps.Copy(vars, c.more)
	for file, content := range map[string]any{
		"terraform.tfvars.json": vars,
		"certificates.tf.json":  map[string]any{"locals": map[string]any{"ca": must.Read(c.t, c.pki.CAFile), "certificates": certificates, "keys": keys}},
	} {
		text, err := json.Marshal(content)
		must.Succeed(c.t, err)
		c.Write(file, string(text))
	}
}

// mustReplace applies, and fails the test unless that replaces this member and no other.
func (c *cluster) mustReplace(name string, args ...string) {
	c.t.Helper()
	ids := func() map[string]uint64 {
		ids := map[string]uint64{}
		members, err := c.members(c.client())
		must.Succeed(c.t, err)
		for name, m := range members {
			ids[name] = m.ID
		}
		return ids
	}
	before := ids()
	c.Apply(args...).MustSucceed()
	after := ids()
	if before[name] == after[name] {
		c.t.Errorf("the member %s is the same", name)
	}
	delete(before, name)
	delete(after, name)
	if !maps.Equal(before, after) {
		c.t.Errorf("other members than %s changed: %v, before %v", name, after, before)
	}
}

// releases serves releases as GitHub does.
func (c *cluster) releases(versions ...etcdtest.Version) string {
	c.t.Helper()
	files := map[string][]byte{}
	for _, v := range versions {
		release := "v" + etcdtest.Release(c.t, v)
		name := fmt.Sprintf("etcd-%s-linux-%s.tar.gz", release, runtime.GOARCH)
		archive := c.archive(v)
		files["/"+release+"/"+name] = archive
		files["/"+release+"/SHA256SUMS"] = fmt.Appendf(nil, "%x  %s\n", sha256.Sum256(archive), name)
	}
	return c.serve(func(w http.ResponseWriter, r *http.Request) {
		if text, ok := files[r.URL.Path]; ok {
			_, _ = w.Write(text)
		} else {
			http.NotFound(w, r)
		}
	})
}

// publicKey returns the public key of a certificate as sshd reads it.
func publicKey(t *testing.T, cert etcdtest.Cert) string {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(cert.CertFile, cert.KeyFile)
	must.Succeed(t, err)
	point, err := x509.MarshalPKIXPublicKey(pair.Leaf.PublicKey)
	must.Succeed(t, err)
	var blob []byte
	for _, part := range []string{"ecdsa-sha2-nistp256", "nistp256", string(point[len(point)-65:])} {
		blob = append(append(blob, 0, 0, 0, byte(len(part))), part...)
	}
	return "ecdsa-sha2-nistp256 " + base64.StdEncoding.EncodeToString(blob)
}
