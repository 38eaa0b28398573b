// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package examples

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// ports are those of one machine.
type ports struct {
	Client int `json:"client_port"`
	Peer   int `json:"peer_port"`
}

// fleet is a configuration of an etcd_cluster with the module local-machine. Its exported
// fields are what a reader changes between two applies.
type fleet struct {
	*acctest.Workspace
	Version, Image string
	After          string // of replace_unreachable_after, if not as it stands there
	Names          []string

	// write writes the configuration with these values.
	write    func()
	machines string
	ports    map[string]ports
}

// nodes are the ports of the nodes.
func (f *fleet) nodes() map[string]ports {
	f.TB.Helper()
	out := map[string]ports{}
	for _, name := range f.Names {
		if _, known := f.ports[name]; !known {
			f.ports[name] = ports{etcdtest.ReservePort(f.TB), etcdtest.ReservePort(f.TB)}
		}
		out[name] = f.ports[name]
	}
	return out
}

// member is the state of a member.
func (f *fleet) member(name string) map[string]any {
	f.TB.Helper()
	return f.State(acctest.Address("etcd_member", name))
}

// machine is the address of a machine.
func (f *fleet) machine(name string) string {
	return fmt.Sprintf("module.machine[%q].terraform_data.machine", name)
}

// apply applies the configuration, and fails the test unless all nodes vote then, and
// the apply has created or replaced the members of these names and no others.
func (f *fleet) apply(created []string, args ...string) {
	f.TB.Helper()
	before := map[string]any{}
	for name := range f.ports {
		before[name] = f.member(name)["id"]
	}
	f.write()
	f.Apply(args...).MustSucceed()
	var got []string
	for _, name := range f.Names {
		m := f.member(name)
		if m["role"] != "voter" {
			f.TB.Errorf("%s is a %v, want a voter", name, m["role"])
		}
		if m["id"] != before[name] {
			got = append(got, name)
		}
	}
	if !slices.Equal(got, created) {
		f.TB.Fatalf("the apply has created the members %q, want %q", got, created)
	}
}

// settled fails the test unless another plan changes nothing.
func (f *fleet) settled() {
	f.TB.Helper()
	f.Plan().MustBeEmpty()
}

// roll applies a new version or image, which replaces one member in each apply.
func (f *fleet) roll() {
	f.TB.Helper()
	for _, name := range f.Names {
		f.apply([]string{name})
	}
	f.settled()
}

// lose deletes a machine outside Terraform, which the refresh of a cloud's machine
// resource would find.
func (f *fleet) lose(name string) {
	f.TB.Helper()
	down := exec.Command("sh", "local-cluster/machine.sh", "down", filepath.Join(f.machines, name))
	if out, err := down.CombinedOutput(); err != nil {
		f.TB.Fatalf("machine.sh down %s: %v\n%s", name, err, out)
	}
	f.Run("state", "rm", f.machine(name)).MustSucceed()
}

// end destroys everything.
func (f *fleet) end() {
	f.TB.Helper()
	f.Destroy().MustSucceed()
	left, err := filepath.Glob(f.machines + "*/*")
	left = slices.DeleteFunc(left, func(file string) bool { return strings.HasSuffix(file, ".events") })
	if err != nil || len(left) != 0 {
		f.TB.Errorf("destroy left %q (%v)", left, err)
	}
}
