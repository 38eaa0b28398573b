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

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// FleetText is the configuration of a [Fleet].
//
//go:embed testdata/fleet.tf
var FleetText string

// discoveryText is how a cluster forms by a token in another etcd.
//
//go:embed testdata/discovery.tf
var discoveryText string

// Node is one member in the configuration; see testdata/fleet.tf.
type Node struct {
	Client string `json:"client"`
	Peer   string `json:"peer"`
	Etcd   string `json:"etcd"`
	Joins  string `json:"joins,omitempty"`

	Peers   []string `json:"peers,omitempty"`
	Clients []string `json:"clients,omitempty"`
	// Listen are the URLs at which the member listens for clients, if not at Client,
	// separated by commas.
	Listen string `json:"listen,omitempty"`
}

// dial returns the URL at which the test reaches the member.
func (n *Node) dial() string {
	first, _, _ := strings.Cut(cmp.Or(n.Listen, n.Client), ",")
	return first
}

// FleetOptions configure a [Fleet].
type FleetOptions struct {
	// Version is the etcd on the machines, [etcdtest.DefaultVersion] if empty.
	Version etcdtest.Version
	// Names are the initial members; a, b and c if empty.
	Names []string
	// TLS enables mutual TLS for all connections.
	TLS *etcdtest.PKI
	// Password is configured for the provider from the start, with the user
	// root. The test itself enables authentication.
	Password string
	// Registry is the version of the etcd with the discovery token. If it is empty, the
	// cluster forms without one.
	Registry etcdtest.Version
	// CLI is that of [WorkspaceOptions].
	CLI string
}

// Fleet is a workspace with an etcd_cluster, its members, and their machines, each of
// which is a directory with a supervised etcd. Its fields are the arguments of the next
// run, which writes them.
type Fleet struct {
	*Workspace
	Nodes map[string]*Node
	// Release is the argument version, none if empty. See [Fleet.Releases].
	Release string
	Image   string // in revision
	Rebuild map[string]string
	// Machines is the directory of the machines. Each existing machine has a
	// subdirectory, and files for its events and its log, which stay.
	Machines string
	// Registry holds the discovery tokens; nil without one.
	Registry *etcdtest.Cluster

	Options    FleetOptions
	MachineEnv map[string]string

	// MachineScript is the path of the script that boots machines and shuts them down.
	MachineScript string

	binaries    map[string]string
	authEnabled bool // clients of the test need the password
}

// NewFleet writes the configuration and starts only the discovery cluster. The
// machines end with the test in every case.
func NewFleet(tb testing.TB, o FleetOptions) *Fleet {
	tb.Helper()
	f := &Fleet{
		Workspace: NewWorkspace(tb, WorkspaceOptions{CLI: o.CLI}),
		Nodes:     map[string]*Node{}, Options: o, Image: "one", binaries: map[string]string{},
		MachineScript: filepath.Join(etcdtest.ModuleRoot(tb), "examples", "local-cluster", "machine.sh"),
		MachineEnv:    map[string]string{"ETCD_UNSAFE_NO_FSYNC": "true"},
	}
	maps.Copy(f.MachineEnv, etcdtest.Frugal())
	f.Prepare = f.save
	f.Machines = filepath.Join(filepath.Dir(f.Dir), "machines")
	must.Succeed(tb, os.Mkdir(f.Machines, 0o755))
	tb.Cleanup(f.logMachines)
	f.Write("main.tf", FleetText)
	f.Write("provider.tf", f.providerBlock())
	f.discover()
	if o.TLS != nil {
		maps.Copy(f.MachineEnv, o.TLS.Environment())
	}
	if o.Password != "" {
		f.MachineEnv["ETCD_BCRYPT_COST"] = "4" // the minimum
	}
	if f.Add(o.Names...); len(o.Names) == 0 {
		f.Add("a", "b", "c")
	}
	return f
}

// discover writes how the cluster forms.
func (f *Fleet) discover() {
	f.TB.Helper()
	if f.Options.Registry == "" {
		f.Write("discovery.tf", "locals {\n  discovery = null\n}\n")
		return
	}
	f.Registry = etcdtest.Start(f.TB, 1, etcdtest.Options{Names: []string{"registry"}, Version: f.Options.Registry})
	f.Write("discovery.tf", fmt.Sprintf(discoveryText, f.Registry.Endpoints()[0]))
}

// providerBlock has the key inline, so that leaks of it are found.
func (f *Fleet) providerBlock() string {
	f.TB.Helper()
	access := Access{Password: f.Options.Password}
	if access.Password != "" {
		access.Username = "root"
	}
	if t := f.Options.TLS; t != nil {
		cert := t.Client("root")
		key := must.Read(f.TB, cert.KeyFile)
		access.PKI, access.Cert.CertFile = t, cert.CertFile
		access.Extra = fmt.Sprintf("key = <<-EOT\n%s\n  EOT", strings.TrimSpace(key))
	}
	return access.ProviderConfig()
}

// logMachines logs the events and logs of the machines if the test failed.
func (f *Fleet) logMachines() {
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

// Releases makes the etcd of the machines that of the argument version, and returns the
// versions with three numbers.
func (f *Fleet) Releases(versions ...etcdtest.Version) (releases []string) {
	f.TB.Helper()
	for _, v := range versions {
		release := etcdtest.Release(f.TB, v)
		f.binaries[release] = etcdtest.Binary(f.TB, v)
		releases = append(releases, release)
	}
	return releases
}

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
			Etcd:   etcdtest.Binary(f.TB, cmp.Or(f.Options.Version, etcdtest.DefaultVersion)),
		}
	}
}

// Drop removes nodes from the configuration.
func (f *Fleet) Drop(names ...string) {
	for _, name := range names {
		delete(f.Nodes, name)
	}
}

// names are those of the nodes in the configuration.
func (f *Fleet) names() []string { return slices.Sorted(maps.Keys(f.Nodes)) }

// save writes the variables that the configuration has.
func (f *Fleet) save() {
	f.TB.Helper()
	cluster := map[string]any{"revision": map[string]string{"image": f.Image}, "rebuild": f.Rebuild}
	if f.Release != "" {
		cluster["version"] = f.Release
	}
	vars := map[string]any{
		"nodes": f.Nodes, "cluster": cluster, "machines": f.Machines, "machine_sh": f.MachineScript, "environment": f.MachineEnv, "binaries": f.binaries,
	}
	configuration := f.Read("main.tf") + f.Read("discovery.tf")
	maps.DeleteFunc(vars, func(name string, _ any) bool { return !strings.Contains(configuration, "variable \""+name+"\"") })
	text, err := json.MarshalIndent(vars, "", "  ")
	must.Succeed(f.TB, err)
	f.Write("terraform.tfvars.json", string(text))
}

// Form applies the configuration. All its nodes are voters then.
func (f *Fleet) Form(args ...string) *Outcome {
	f.TB.Helper()
	o := f.Apply(args...).MustSucceed()
	f.MustVote()
	return o
}

// Settled fails the test unless another plan changes nothing and says nothing.
func (f *Fleet) Settled() {
	f.TB.Helper()
	p := f.Plan()
	p.MustBeEmpty()
	p.MustBeQuiet()
}
