// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package examples

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdsim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// cloud is where a root is applied without a cloud: stand-ins make its machines up, and the
// real provider works on a simulated etcd, whose members start with etcd_cluster.
type cloud struct {
	*etcdsim.Run
	*acctest.Workspace
	network *etcdsim.Network

	mu      sync.Mutex
	members map[string]*etcdsim.Process // by client URL
	dialled map[string]string           // addresses, by client URL
}

// command runs a command of the CLI with a provider of its own, on a root whose call of the
// module has other arguments.
func (c *cloud) command(env []string, arguments string, run func()) {
	c.TB.Helper()
	r := backend.NewRun()
	r.Getenv = func(string) string { return "" }
	p := founding{provider.Server(provider.New("test", &connection.Pool{World: c}, r)), c}
	served := map[string]tfprotov6.ProviderServer{"terraform-provider-etcd/etcd": p}
	c.Env = append(slices.Clone(env), acctest.Serve(c.TB, served, nil))
	c.Write("reader_override.tf", "module \"etcd\" {\n"+arguments+"\n}\n")
	run()
}

// Client implements connection.World: a member answers where its URL leads.
func (c *cloud) Client(endpoint, address string) *clientv3.Client {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dialled[endpoint] = address; c.members[endpoint] != nil {
		c.network.Answer(address, c.members[endpoint])
	}
	return c.Run.Client(endpoint, address)
}

// founding is a provider whose etcd_cluster has its members started at once.
type founding struct {
	tfprotov6.ProviderServer
	cloud *cloud
}

// ApplyResourceChange implements tfprotov6.ProviderServer.
func (f founding) ApplyResourceChange(ctx context.Context, r *tfprotov6.ApplyResourceChangeRequest) (*tfprotov6.ApplyResourceChangeResponse, error) {
	resp, err := f.ProviderServer.ApplyResourceChange(ctx, r)
	if err == nil && r.TypeName == "etcd_cluster" {
		err = f.cloud.form(resp.NewState)
	}
	return resp, err
}

// form starts the initial members that an etcd_cluster describes.
func (c *cloud) form(state *tfprotov6.DynamicValue) error {
	v, err := state.Unmarshal(schemasOfTheProvider(c.TB).ResourceSchemas["etcd_cluster"].ValueType())
	if err != nil {
		return err
	}
	variable := func(name string) (text string) {
		at := tftypes.NewAttributePath().WithAttributeName("node").WithElementKeyString("a").WithAttributeName("environment").WithElementKeyString(name)
		found, _, err := tftypes.WalkAttributePath(v, at)
		if value, ok := found.(tftypes.Value); err == nil && ok {
			_ = value.As(&text)
		}
		return text
	}
	peers := map[string][]string{}
	for entry := range strings.SplitSeq(variable("ETCD_INITIAL_CLUSTER"), ",") {
		name, url, _ := strings.Cut(entry, "=")
		peers[name] = []string{url}
	}
	cluster, err := c.network.Static(variable("ETCD_INITIAL_CLUSTER_TOKEN"), peers)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, urls := range peers {
		p := cluster.NewProcess(name, "3.6.16")
		p.PeerURL, p.ClientURL = urls[0], strings.Replace(urls[0], ":2380", ":2379", 1)
		c.members[p.ClientURL] = p
		if err := p.StartNew(); err != nil {
			return err
		}
		if at := c.dialled[p.ClientURL]; at != "" {
			c.network.Answer(at, p)
		}
	}
	return nil
}

// reached are the addresses at which the provider reaches the members, in order of their URLs.
func (c *cloud) reached() (addresses []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, url := range slices.Sorted(maps.Keys(c.dialled)) {
		addresses = append(addresses, c.dialled[url])
	}
	return addresses
}

// run makes all members run a version.
func (c *cloud) run(version string) {
	c.TB.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.members {
		p.PowerOff()
		p.Version = etcdsim.Version(version)
		must.Succeed(c.TB, p.Start())
	}
}

// certificates tells the stand-in for hashicorp/tls certificates that are valid: the
// authority, and one for all machines and for root.
func certificates(t *testing.T) (env string) {
	t.Helper()
	pki := etcdtest.NewPKI(t)
	values, err := json.Marshal(map[string]string{"tls_self_signed_cert.cert_pem": must.Read(t, pki.CAFile), "cert_pem": must.Read(t, pki.Server.CertFile), "private_key_pem": must.Read(t, pki.Server.KeyFile)})
	must.Succeed(t, err)
	return valuesVariable + "=" + string(values)
}

// A root for a cloud forms a cluster, whose next plan is empty. Another version replaces one
// machine, two more nodes change none, and a step that etcd does not support is refused.
func TestClouds(t *testing.T) {
	t.Parallel()
	binaries, env := standIns(t)
	for name, of := range map[string]struct{ machine, more string }{
		"aws":     {"aws_instance", `d = "127.0.4.10", e = "127.0.5.10"`},
		"hetzner": {"hcloud_server", `d = "127.0.1.13", e = "127.0.1.14"`},
		"libvirt": {"libvirt_domain", `d = "127.0.3.13", e = "127.0.3.14"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := copied(t, acctest.WorkspaceOptions{Mirror: true, Others: binaries}, name)
			main := w.Read("main.tf")
			if code := regexp.MustCompile(`(?m)^\s*[^#\s].*$`).FindAllString(main, -1); len(code) > 20 {
				t.Errorf("main.tf has %d lines of code, want 20 at most", len(code))
			}
			base := []string{env, certificates(t)}
			network := &etcdsim.Network{}
			c := &cloud{Run: network.Run("test"), Workspace: w, network: network, members: map[string]*etcdsim.Process{}, dialled: map[string]string{}}
			c.command(base, others[name], func() { w.Init() })
			c.command(base, others[name], func() { w.Apply().MustSucceed() })
			c.command(base, others[name], func() { w.Plan().MustBeEmpty() })
			reached := c.reached()
			if text := w.Read("pki/etcdctl.env"); !strings.Contains(text, "ETCDCTL_ENDPOINTS="+strings.Join(reached, ",")+"\n") {
				t.Errorf("the members are reached at %q, and etcdctl.env is\n%s", reached, text)
			}
			nodes := regexp.MustCompile(`nodes += \{.*`).FindString(main)
			for arguments, want := range map[string]map[string]string{
				`etcd_version = "3.7.3"`:                           {"a": "delete create"},
				strings.Replace(nodes, " }", ", "+of.more+" }", 1): {"d": "create", "e": "create"},
			} {
				c.command(base, others[name]+arguments, func() {
					plan, got := w.Plan(), map[string]string{}
					for address, action := range plan.Actions() {
						if node, is := strings.CutPrefix(address, "module.etcd."+of.machine+".node"); is {
							got[strings.Trim(node, `[]"`)] = action
						}
					}
					if !maps.Equal(got, want) {
						t.Errorf("the plan does %q, want %q\n%s", got, want, plan)
					}
				})
			}
			for _, step := range []struct{ runs, to, because string }{
				{"3.6.16", "3.5.35", "a new member that is older does not start"}, {"3.6.5", "3.7.3", "run etcd 3.6.5"}, {"3.5.35", "3.7.3", "run etcd 3.5.35"},
			} {
				c.run(step.runs)
				c.command(base, others[name]+fmt.Sprintf("etcd_version = %q", step.to), func() {
					w.Plan().MustSay("Cannot change a from 3.6.16 to "+step.to, step.because)
				})
			}
		})
	}
}

// The root of the guide for beginners, whose module has the inputs and outputs of those for
// clouds, forms a cluster of real members, refuses a step that etcd does not support, is
// upgraded and grown in one apply, and leaves nothing.
func TestGettingStarted(t *testing.T) {
	t.Parallel()
	binaries, env := standIns(t)
	w := copied(t, acctest.WorkspaceOptions{Mirror: true, Others: binaries}, "getting-started")
	w.Env = append(w.Env, env, certificates(t))
	ports := map[string]any{}
	call := func(version etcdtest.Version, names ...string) {
		nodes := map[string]any{}
		for _, name := range names {
			if ports[name] == nil {
				ports[name] = freePair(t)
			}
			nodes[name] = ports[name]
		}
		text, err := json.Marshal(nodes)
		must.Succeed(t, err)
		w.Write("reader_override.tf", fmt.Sprintf("module \"etcd\" {\nbin = %q\netcd_version = %q\nnodes = %s\n}\n", filepath.Dir(etcdtest.Binary(t, etcdtest.V36)), etcdtest.Release(t, version), text))
	}
	call(etcdtest.V36, "a", "b", "c")
	w.Init()
	w.Apply().MustSucceed()
	w.Plan().MustBeEmpty()
	cmd := exec.CommandContext(etcdtest.WaitContext(t), "sh", "-c", `. pki/etcdctl.env && exec "$0" endpoint health`, etcdtest.EtcdctlBinary(t, etcdtest.V36))
	cmd.Dir = w.Dir
	if out, err := cmd.CombinedOutput(); err != nil || strings.Count(string(out), "is healthy") != 3 {
		t.Errorf("etcdctl with etcdctl.env: %v\n%s", err, out)
	}
	call(etcdtest.V35, "a", "b", "c")
	w.Plan().MustSay(fmt.Sprintf("Cannot change a from %s to %s", etcdtest.Release(t, etcdtest.V36), etcdtest.Release(t, etcdtest.V35)))
	member := func(name string) map[string]any {
		return w.State(acctest.Address("module.etcd.etcd_member.node", name))
	}
	before := map[string]any{"a": member("a")["id"], "b": member("b")["id"], "c": member("c")["id"]}
	call(etcdtest.V37, "a", "b", "c", "d")
	w.Apply().MustSucceed()
	for name, replaced := range map[string]bool{"a": true, "b": false, "c": false, "d": true} {
		if m := member(name); m["role"] != "voter" || (m["id"] != before[name]) != replaced {
			t.Errorf("%s, which was %v, is %v", name, before[name], m)
		}
	}
	w.Destroy().MustSucceed()
	if left, err := filepath.Glob(filepath.Join(w.Dir, "machines", "*", "etcd.env")); err != nil || len(left) > 0 {
		t.Errorf("destroy left %q (%v)", left, err)
	}
}

// freePair returns a port of 127.0.0.1 that is free, as is the next one. The system gives
// neither to those that ask for any port.
func freePair(t *testing.T) int {
	t.Helper()
	for {
		port := 10000 + 2*rand.IntN(10000)
		one, err1 := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		two, err2 := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port+1))
		if err1 == nil {
			must.Succeed(t, one.Close())
		}
		if err2 == nil {
			must.Succeed(t, two.Close())
		}
		if err1 == nil && err2 == nil {
			return port
		}
	}
}
