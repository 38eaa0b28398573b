// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package machinetest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/must"
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
