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

// FleetText is the configuration of the nodes.
//
//go:embed testdata/fleet.tf
var FleetText string

// StaticText is the configuration of a bootstrap without a discovery cluster.
//
//go:embed testdata/static.tf
var StaticText string

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
	// CLI and Provider are those of [WorkspaceOptions].
	CLI, Provider string
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

	Options       FleetOptions
	Layout        func() // rewrites the configuration, or nil
	MachineScript string // the path of machine.sh
	MachineEnv    map[string]string

	// clients caches the clients of the test by endpoints. If it is nil, each
	// call creates a new client.
	clients map[string]*clientv3.Client
	clocks  map[string]time.Duration // offset of a node's clock
	named   map[string]bool          // client URLs; see nameMembers
}

// NewFleet writes the configuration and starts only the discovery cluster. The
// machines end with the test in every case.
func NewFleet(tb testing.TB, o FleetOptions) *Fleet {
	tb.Helper()
	root, err := ModuleRoot()
	if err != nil {
		tb.Fatal(err)
	}
	f := &Fleet{
		Workspace: NewWorkspace(tb, WorkspaceOptions{Mirror: o.Mirror, CLI: o.CLI, Provider: o.Provider}),
		Nodes:     map[string]*Node{}, Founders: o.Founders, Options: o, named: map[string]bool{},
		MachineScript: filepath.Join(root, "examples", "local-cluster", "machine.sh"),
		MachineEnv:    map[string]string{"ETCD_UNSAFE_NO_FSYNC": "true"},
	}
	maps.Copy(f.MachineEnv, etcdtest.Frugal())
	if len(f.Founders) == 0 {
		f.Founders = []string{"a", "b", "c"}
	}
	f.Machines = filepath.Join(filepath.Dir(f.Dir), "machines")
	if err := os.Mkdir(f.Machines, 0o755); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(f.LogMachines)
	f.Write("main.tf", FleetText)
	f.Write("provider.tf", f.providerBlock())
	switch {
	case o.Static:
		f.Write("bootstrap.tf", StaticText)
	case o.Service != nil:
		f.Write("bootstrap.tf", discoveryText)
		if o.RegistryCA != "" {
			// etcd has no option for the CA of a discovery URL.
			f.MachineEnv["SSL_CERT_FILE"], f.MachineEnv["CURL_CA_BUNDLE"] = o.RegistryCA, o.RegistryCA
		}
	default:
		v2 := o.Registry == etcdtest.V34 || o.Registry == etcdtest.V35
		f.Registry = etcdtest.Start(tb, 1, etcdtest.Options{Names: []string{"registry"}, Version: o.Registry, V2: v2})
		f.Write("bootstrap.tf", discoveryText)
	}
	if o.TLS != nil {
		maps.Copy(f.MachineEnv, map[string]string{
			"ETCD_CERT_FILE": o.TLS.Server.CertFile, "ETCD_KEY_FILE": o.TLS.Server.KeyFile,
			"ETCD_TRUSTED_CA_FILE": o.TLS.CAFile, "ETCD_CLIENT_CERT_AUTH": "true",
			"ETCD_PEER_CERT_FILE": o.TLS.Peer.CertFile, "ETCD_PEER_KEY_FILE": o.TLS.Peer.KeyFile,
			"ETCD_PEER_TRUSTED_CA_FILE": o.TLS.CAFile, "ETCD_PEER_CLIENT_CERT_AUTH": "true",
		})
	}
	if o.Password != "" {
		f.TakeAuth()
	}
	if f.password() != "" {
		f.MachineEnv["ETCD_BCRYPT_COST"] = "4" // the minimum
	}
	f.Add(f.Founders...)
	f.checkSecrets()
	tb.Cleanup(f.mustHaveAuth)
	if o.Mirror {
		f.Save()
		f.Init()
	}
	return f
}

// providerBlock has the key inline, so that leaks of it are found.
func (f *Fleet) providerBlock() string {
	var cert etcdtest.Cert
	if t := f.Options.TLS; t != nil {
		cert = t.Client("root")
	}
	return f.providerBlockWith(cert)
}

func (f *Fleet) providerBlockWith(cert etcdtest.Cert) string {
	var b strings.Builder
	b.WriteString("provider \"etcd\" {\n  endpoints = [for node in values(var.nodes) : node.client]\n")
	if t := f.Options.TLS; t != nil {
		key, err := os.ReadFile(cert.KeyFile)
		if err != nil {
			f.TB.Fatal(err)
		}
		fmt.Fprintf(&b, "  ca_cert = %q\n  cert = %q\n  key = <<-EOT\n%s\n  EOT\n", t.CAFile, cert.CertFile, strings.TrimSpace(string(key)))
	}
	if p := f.Options.Password; p != "" {
		fmt.Fprintf(&b, "  username = \"root\"\n  password = %q\n", p)
	}
	b.WriteString(f.namedMembers())
	b.WriteString("}\n")
	return b.String()
}

// LogMachines logs the events and logs of the machines if the test failed.
func (f *Fleet) LogMachines() {
	if !f.TB.Failed() {
		return
	}
	paths, _ := filepath.Glob(f.Machines + "/*.events")
	dirs, _ := filepath.Glob(f.Machines + "/*/etcd.log")
	for _, path := range slices.Concat(paths, dirs) {
		text, _ := os.ReadFile(path)
		lines := slices.DeleteFunc(strings.Split(string(text), "\n"), func(line string) bool {
			return strings.Contains(line, "recognized and used environment variable")
		})
		f.TB.Logf("%s:\n%s", path, strings.Join(lines[max(0, len(lines)-40):], "\n"))
	}
}

// Version returns the version of the etcd on the machines.
func (f *Fleet) Version() etcdtest.Version { return cmp.Or(f.Options.Version, etcdtest.DefaultVersion) }

// Add adds nodes with new ports.
func (f *Fleet) Add(names ...string) {
	f.TB.Helper()
	scheme := "http"
	if f.Options.TLS != nil {
		scheme = "https"
	}
	for _, name := range names {
		f.Nodes[name] = &Node{
			Client: fmt.Sprintf("%s://127.0.0.1:%d", scheme, etcdtest.ReservePort(f.TB)),
			Peer:   fmt.Sprintf("%s://127.0.0.1:%d", scheme, etcdtest.ReservePort(f.TB)),
			Etcd:   etcdtest.Binary(f.TB, f.Version()),
		}
	}
}

// Drop removes nodes from the configuration.
func (f *Fleet) Drop(names ...string) {
	for _, name := range names {
		delete(f.Nodes, name)
	}
}

// Save writes the variables.
func (f *Fleet) Save() {
	f.TB.Helper()
	vars := map[string]any{
		"nodes": f.Nodes, "founders": f.Founders, "machines": f.Machines, "machine_sh": f.MachineScript, "environment": f.MachineEnv,
	}
	switch {
	case f.Registry != nil:
		vars["registry"], vars["protocol"] = cmp.Or(f.RegistryURL, f.Registry.Endpoints()[0]), cmp.Or(f.Options.Protocol, "v3")
	case f.Options.Service != nil:
		vars["protocol"], vars["service_url"] = "service", f.Options.Service.URL
		if f.Options.RegistryCA != "" {
			vars["registry_ca"] = f.Options.RegistryCA
		}
	}
	if f.Options.Size > 0 {
		vars["size"] = f.Options.Size
	}
	text, err := json.MarshalIndent(vars, "", "  ")
	if err != nil {
		f.TB.Fatal(err)
	}
	f.Write("terraform.tfvars.json", string(text))
	f.nameMembers()
	if f.Layout != nil {
		f.Layout()
	}
}

// Plan makes a plan; see [Workspace.Plan].
func (f *Fleet) Plan(args ...string) *Plan { f.TB.Helper(); f.Save(); return f.Workspace.Plan(args...) }

// Apply runs apply; see [Workspace.Apply].
func (f *Fleet) Apply(args ...string) *Outcome {
	f.TB.Helper()
	out := f.Start(append([]string{"apply"}, args...)...).Wait()
	if out.ExitCode == 0 {
		f.authFollows()
	}
	return out
}

// Destroy runs destroy; see [Workspace.Destroy].
func (f *Fleet) Destroy(args ...string) *Outcome {
	f.TB.Helper()
	return f.Start(append([]string{"destroy"}, args...)...).Wait()
}

// Start starts apply or destroy; see [Workspace.Start].
func (f *Fleet) Start(args ...string) *Running {
	f.TB.Helper()
	f.Save()
	return f.Workspace.Start(args...)
}

// Form applies the configuration with the initial members.
func (f *Fleet) Form() *Outcome { f.TB.Helper(); return f.Apply().MustSucceed() }

// Sibling returns the same fleet in another directory with a copy of the
// current state: that of another person with the same configuration.
func (f *Fleet) Sibling() *Fleet {
	f.TB.Helper()
	g := *f
	g.Workspace = NewWorkspace(f.TB, WorkspaceOptions{})
	g.Trusted = f.Trusted
	g.clients, g.named = nil, maps.Clone(f.named)
	g.Nodes = map[string]*Node{}
	for name, node := range f.Nodes {
		own := *node
		g.Nodes[name] = &own
	}
	files, err := filepath.Glob(filepath.Join(f.Dir, "*.tf"))
	if err != nil {
		f.TB.Fatal(err)
	}
	for _, path := range append(files, filepath.Join(f.Dir, "terraform.tfstate")) {
		if name := filepath.Base(path); name != "provider_override.tf" { // only one of them has a tap
			g.Write(name, f.Read(name))
		}
	}
	return &g
}

// DeadEndpoint returns an endpoint that refuses connections.
func DeadEndpoint(t *testing.T) string {
	t.Helper()
	return fmt.Sprintf("http://127.0.0.1:%d", etcdtest.ReservePort(t))
}
