// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

//go:embed testdata/fleet.tf
var fleetText string

//go:embed testdata/static.tf
var staticText string

//go:embed testdata/discovery.tf
var discoveryText string

// Node is one member in the configuration; see testdata/fleet.tf.
type Node struct {
	Client  string `json:"client"`
	Peer    string `json:"peer"`
	Script  *bool  `json:"script,omitempty"`
	Image   string `json:"image,omitempty"`
	Config  string `json:"config,omitempty"`
	Etcd    string `json:"etcd"`
	Create  string `json:"create,omitempty"`
	Delete  string `json:"delete,omitempty"`
	Force   bool   `json:"force,omitempty"`
	Joins   string `json:"joins,omitempty"`
	Promote bool   `json:"promote,omitempty"`

	// Name is the name of the member if it differs from the key of the node.
	Name    string   `json:"name,omitempty"`
	Peers   []string `json:"peers,omitempty"`
	Clients []string `json:"clients,omitempty"`
	// Listen is where the member listens for clients, if not at Client.
	Listen []string `json:"listen,omitempty"`
	// ListenPeer is where the member listens for peers, if not at Peer.
	ListenPeer []string `json:"listen_peer,omitempty"`
}

// dial returns the URL at which the test reaches the member.
func (n *Node) dial() string {
	if len(n.Listen) > 0 {
		return n.Listen[0]
	}
	return n.Client
}

// FleetOptions configure a [Fleet].
type FleetOptions struct {
	// Version is the etcd on the machines, [etcdtest.DefaultVersion] if empty.
	Version etcdtest.Version
	// Founders form the cluster; a, b and c if empty.
	Founders []string
	// TLS enables mutual TLS for all connections.
	TLS *etcdtest.PKI
	// Password is configured for the provider from the start, with the user
	// root. The test itself enables authentication.
	Password string
	// Protocol is the discovery protocol, v3 if empty. Registry is the version
	// of the etcd with the tokens, [etcdtest.DefaultVersion] if empty.
	Protocol string
	Registry etcdtest.Version
	// Size is the number of initial members, if they are not named.
	Size int
	// Service holds the tokens instead, with the protocol service. RegistryCA
	// signed its certificate.
	Service    *etcdtest.DiscoveryService
	RegistryCA string
	// Static bootstraps without a discovery cluster.
	Static bool
	// Mirror installs the provider with init.
	Mirror bool
}

// Fleet is a workspace with the first configuration of the documentation: each
// node has a machine, which is a directory with a supervised etcd. Change Nodes
// and Founders between runs; Plan, Apply, Destroy and Start write the
// variables.
type Fleet struct {
	*Workspace
	Nodes    map[string]*Node
	Founders []string
	// Machines is the directory of the machines. Each existing machine has a
	// subdirectory, and files for its events and its log, which stay.
	Machines string
	// Registry holds the discovery tokens; nil with a static bootstrap.
	Registry *etcdtest.Cluster
	// RegistryURL is the URL of the discovery cluster, if not its own address.
	RegistryURL string

	// AuthEnabled reports whether clients of the test need the password.
	AuthEnabled bool

	// clients caches the clients of the test by endpoints. If it is nil, each
	// call creates a new client.
	clients map[string]*clientv3.Client

	opts    FleetOptions
	clocks  map[string]time.Duration // offset of a node's clock
	layout  func()                   // rewrites the configuration, or nil
	machine string                   // machine.sh
	env     map[string]string
}

// NewFleet writes the configuration and starts only the discovery cluster. The
// machines end with the test in every case.
func NewFleet(tb testing.TB, o FleetOptions) *Fleet {
	tb.Helper()
	root, err := moduleRoot()
	if err != nil {
		tb.Fatal(err)
	}
	f := &Fleet{
		Workspace: NewWorkspace(tb, WorkspaceOptions{Mirror: o.Mirror}),
		Nodes:     map[string]*Node{}, Founders: o.Founders, opts: o,
		machine: filepath.Join(root, "examples", "local-cluster", "machine.sh"),
		env:     map[string]string{"ETCD_UNSAFE_NO_FSYNC": "true"},
	}
	maps.Copy(f.env, etcdtest.Frugal())
	if len(f.Founders) == 0 {
		f.Founders = []string{"a", "b", "c"}
	}
	f.Machines = filepath.Join(filepath.Dir(f.Dir), "machines")
	if err := os.Mkdir(f.Machines, 0o755); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(f.logMachines)
	f.Write("main.tf", fleetText)
	f.Write("provider.tf", f.providerBlock())
	switch {
	case o.Static:
		f.Write("bootstrap.tf", staticText)
	case o.Service != nil:
		f.Write("bootstrap.tf", discoveryText)
		if o.RegistryCA != "" {
			// etcd has no option for the CA of a discovery URL.
			f.env["SSL_CERT_FILE"], f.env["CURL_CA_BUNDLE"] = o.RegistryCA, o.RegistryCA
		}
	default:
		v2 := o.Registry == etcdtest.V34 || o.Registry == etcdtest.V35
		f.Registry = etcdtest.Start(tb, 1, etcdtest.Options{Names: []string{"registry"}, Version: o.Registry, V2: v2})
		f.Write("bootstrap.tf", discoveryText)
	}
	if o.TLS != nil {
		maps.Copy(f.env, map[string]string{
			"ETCD_CERT_FILE": o.TLS.Server.CertFile, "ETCD_KEY_FILE": o.TLS.Server.KeyFile,
			"ETCD_TRUSTED_CA_FILE": o.TLS.CAFile, "ETCD_CLIENT_CERT_AUTH": "true",
			"ETCD_PEER_CERT_FILE": o.TLS.Peer.CertFile, "ETCD_PEER_KEY_FILE": o.TLS.Peer.KeyFile,
			"ETCD_PEER_TRUSTED_CA_FILE": o.TLS.CAFile, "ETCD_PEER_CLIENT_CERT_AUTH": "true",
		})
	}
	if o.Password != "" {
		f.takeAuth()
	}
	if f.password() != "" {
		f.env["ETCD_BCRYPT_COST"] = "4" // the minimum
	}
	f.Add(f.Founders...)
	f.checkSecrets()
	tb.Cleanup(f.mustHaveAuth)
	if o.Mirror {
		f.save()
		f.Init()
	}
	return f
}

// providerBlock has the key inline, so that leaks of it are found.
func (f *Fleet) providerBlock() string {
	var cert etcdtest.Cert
	if t := f.opts.TLS; t != nil {
		cert = t.Client("root")
	}
	return f.providerBlockWith(cert)
}

func (f *Fleet) providerBlockWith(cert etcdtest.Cert) string {
	var b strings.Builder
	b.WriteString("provider \"etcd\" {\n  endpoints = [for node in values(var.nodes) : node.client]\n")
	if t := f.opts.TLS; t != nil {
		key, err := os.ReadFile(cert.KeyFile)
		if err != nil {
			f.tb.Fatal(err)
		}
		fmt.Fprintf(&b, "  ca_cert = %q\n  cert = %q\n  key_pem = <<-EOT\n%s\n  EOT\n", t.CAFile, cert.CertFile, strings.TrimSpace(string(key)))
	}
	if p := f.opts.Password; p != "" {
		fmt.Fprintf(&b, "  username = \"root\"\n  password = %q\n", p)
	}
	b.WriteString("}\n")
	return b.String()
}

// logMachines logs the events and logs of the machines if the test failed.
func (f *Fleet) logMachines() {
	if !f.tb.Failed() {
		return
	}
	paths, _ := filepath.Glob(f.Machines + "/*.events")
	dirs, _ := filepath.Glob(f.Machines + "/*/etcd.log")
	for _, path := range slices.Concat(paths, dirs) {
		text, _ := os.ReadFile(path)
		lines := slices.DeleteFunc(strings.Split(string(text), "\n"), func(line string) bool {
			return strings.Contains(line, "recognized and used environment variable")
		})
		f.tb.Logf("%s:\n%s", path, strings.Join(lines[max(0, len(lines)-40):], "\n"))
	}
}

func (f *Fleet) version() etcdtest.Version { return cmp.Or(f.opts.Version, etcdtest.DefaultVersion) }

// Add adds nodes with new ports.
func (f *Fleet) Add(names ...string) {
	f.tb.Helper()
	scheme := "http"
	if f.opts.TLS != nil {
		scheme = "https"
	}
	for _, name := range names {
		f.Nodes[name] = &Node{
			Client: fmt.Sprintf("%s://127.0.0.1:%d", scheme, etcdtest.ReservePort(f.tb)),
			Peer:   fmt.Sprintf("%s://127.0.0.1:%d", scheme, etcdtest.ReservePort(f.tb)),
			Etcd:   etcdtest.Binary(f.tb, f.version()),
		}
	}
}

// Drop removes nodes from the configuration.
func (f *Fleet) Drop(names ...string) {
	for _, name := range names {
		delete(f.Nodes, name)
	}
}

// save writes the variables.
func (f *Fleet) save() {
	f.tb.Helper()
	vars := map[string]any{
		"nodes": f.Nodes, "founders": f.Founders, "machines": f.Machines, "machine_sh": f.machine, "environment": f.env,
	}
	switch {
	case f.Registry != nil:
		vars["registry"], vars["protocol"] = cmp.Or(f.RegistryURL, f.Registry.Endpoints()[0]), cmp.Or(f.opts.Protocol, "v3")
	case f.opts.Service != nil:
		vars["protocol"], vars["service_url"] = "service", f.opts.Service.URL
		if f.opts.RegistryCA != "" {
			vars["registry_ca"] = f.opts.RegistryCA
		}
	}
	if f.opts.Size > 0 {
		vars["size"] = f.opts.Size
	}
	text, err := json.MarshalIndent(vars, "", "  ")
	if err != nil {
		f.tb.Fatal(err)
	}
	f.Write("terraform.tfvars.json", string(text))
	if f.layout != nil {
		f.layout()
	}
}

// Plan makes a plan; see [Workspace.Plan].
func (f *Fleet) Plan(args ...string) *Plan { f.tb.Helper(); f.save(); return f.Workspace.Plan(args...) }

// Apply runs apply; see [Workspace.Apply].
func (f *Fleet) Apply(args ...string) *Outcome {
	f.tb.Helper()
	out := f.Start(append([]string{"apply"}, args...)...).Wait()
	if out.ExitCode == 0 {
		f.authFollows()
	}
	return out
}

// Destroy runs destroy; see [Workspace.Destroy].
func (f *Fleet) Destroy(args ...string) *Outcome {
	f.tb.Helper()
	return f.Start(append([]string{"destroy"}, args...)...).Wait()
}

// Start starts apply or destroy; see [Workspace.Start].
func (f *Fleet) Start(args ...string) *Running {
	f.tb.Helper()
	f.save()
	return f.Workspace.Start(args...)
}

// Form applies the configuration with the initial members.
func (f *Fleet) Form() *Outcome { f.tb.Helper(); return f.Apply().MustSucceed() }
