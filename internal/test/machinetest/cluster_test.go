// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package machinetest

import (
	"context"
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
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// node is a member in the configuration; see testdata/main.tf.
type node struct {
	Address string `json:"address"`
	Image   string `json:"image,omitempty"`
}

// cluster is a configuration and its machines.
type cluster struct {
	*acctest.Workspace
	t     *testing.T
	cloud *cloud
	nodes map[string]*node
	image string
	pki   *etcdtest.PKI            // nil without TLS
	certs map[string]etcdtest.Cert // with TLS, by node
	etcd  map[string]any           // option etcd of the user data
	more  map[string]any           // variables
}

// newCluster writes a configuration with the initial members a, b and c, none
// of which exists yet. formation is a file of testdata.
func newCluster(t *testing.T, formation, image string) *cluster {
	t.Helper()
	need(t)
	c := &cluster{t: t, cloud: newCloud(t), nodes: map[string]*node{}, image: image, certs: map[string]etcdtest.Cert{}, more: map[string]any{}}
	c.etcd = map[string]any{"path": "/usr/local/bin"}
	c.Workspace = acctest.NewWorkspace(t, acctest.WorkspaceOptions{})
	c.Prepare = c.save
	for _, file := range []string{"main.tf", formation + ".tf"} {
		c.Write(file, must.Read(t, filepath.Join("testdata", file)))
	}
	c.provider("")
	c.add("a", "b", "c")
	return c
}

// provider writes the provider block.
func (c *cluster) provider(more string) {
	c.t.Helper()
	c.Write("provider.tf", "provider \"etcd\" {\n"+more+"}\n")
}

// secure gives each node a certificate of the same authority.
func (c *cluster) secure() {
	c.t.Helper()
	c.pki = etcdtest.NewPKI(c.t)
	root := c.pki.Client("root")
	c.provider(fmt.Sprintf("  ca_cert = %q\n  cert    = %q\n  key     = %q\n", c.pki.CAFile, root.CertFile, root.KeyFile))
	for name, n := range c.nodes {
		c.certs[name] = c.pki.Host(name, n.Address)
	}
}

// add adds nodes. The first one has the host address 11 in its network.
func (c *cluster) add(names ...string) {
	for _, name := range names {
		c.nodes[name] = &node{Address: c.cloud.address(11 + int(name[0]-'a'))}
	}
}

// save writes the variables.
func (c *cluster) save() {
	c.t.Helper()
	options := map[string]any{}
	for name := range c.nodes {
		option := map[string]any{"etcd": c.etcd}
		if c.pki != nil {
			option["tls"] = map[string]any{"ca": must.Read(c.t, c.pki.CAFile), "cert": must.Read(c.t, c.certs[name].CertFile), "key": must.Read(c.t, c.certs[name].KeyFile)}
		}
		options[name] = option
	}
	vars := map[string]any{"cloud": c.cloud.url, "nodes": c.nodes, "image": c.image, "scheme": c.scheme(), "options": options}
	maps.Copy(vars, c.more)
	text, err := json.MarshalIndent(vars, "", "  ")
	must.Succeed(c.t, err)
	c.Write("terraform.tfvars.json", string(text))
}

// mustStand fails the test unless every node is a voter and answers, there are
// no other members, and the plan is empty.
func (c *cluster) mustStand() {
	c.t.Helper()
	client := c.client()
	etcdtest.Eventually(c.t, "all nodes vote", func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		members, err := c.members(client)
		if err != nil {
			return err
		}
		if got, want := slices.Sorted(maps.Keys(members)), slices.Sorted(maps.Keys(c.nodes)); !slices.Equal(got, want) {
			return fmt.Errorf("members %v, want %v", got, want)
		}
		for name, m := range members {
			if m.IsLearner {
				return fmt.Errorf("%s is a learner", name)
			}
		}
		for _, endpoint := range c.endpoints() {
			if _, err := client.Status(ctx, endpoint); err != nil {
				return fmt.Errorf("%s: %w", endpoint, err)
			}
		}
		return nil
	})
	c.Plan().MustBeEmpty()
}

func (c *cluster) scheme() string {
	if c.pki != nil {
		return "https"
	}
	return "http"
}

// endpoints returns the client URLs of all nodes.
func (c *cluster) endpoints() []string {
	var urls []string
	for _, n := range c.nodes {
		urls = append(urls, c.scheme()+"://"+n.Address+":2379")
	}
	slices.Sort(urls)
	return urls
}

func (c *cluster) clientConfig() clientv3.Config {
	cfg := clientv3.Config{Endpoints: c.endpoints(), DialTimeout: 5 * time.Second, Logger: zap.NewNop()}
	if c.pki != nil {
		cfg.TLS = c.pki.ClientConfig(c.pki.Client("root"))
	}
	return cfg
}

// client returns a client of all nodes. It is closed when the test ends.
func (c *cluster) client() *clientv3.Client {
	c.t.Helper()
	client, err := clientv3.New(c.clientConfig())
	must.Succeed(c.t, err)
	c.t.Cleanup(func() { _ = client.Close() })
	return client
}

// members returns the members of the cluster by name. The name of a member that
// was never started is empty.
func (c *cluster) members(client *clientv3.Client) (map[string]*etcdserverpb.Member, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	list, err := client.MemberList(ctx)
	if err != nil {
		return nil, err
	}
	members := map[string]*etcdserverpb.Member{}
	for _, m := range list.Members {
		members[m.Name] = m
	}
	return members, nil
}

// on runs a command on a machine. The test fails if the command fails.
func (c *cluster) on(name string, args ...string) string {
	c.t.Helper()
	out, err := c.cloud.machine(name).run(args...)
	if err != nil {
		c.t.Fatalf("%s: %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return out
}

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
	before, err := c.members(c.client())
	must.Succeed(c.t, err)
	c.Apply(args...).MustSucceed()
	after, err := c.members(c.client())
	must.Succeed(c.t, err)
	for other, m := range after {
		if (m.ID != before[other].GetID()) != (other == name) || len(after) != len(before) {
			c.t.Errorf("only %s was to be replaced: members %v, before %v", name, after, before)
		}
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
