// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package examples

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// change is what a reader changes in an example, and how many applies that takes. args
// are those of the first apply.
type change struct {
	vars    map[string]any
	args    []string
	applies int
}

// plays are the examples that run on the reader's computer and have no test of their
// own. Each returns its variables and the changes that its README.md makes.
var plays = map[string]func(t *testing.T) (vars map[string]any, changes []change){
	"autoscaling-group": func(t *testing.T) (map[string]any, []change) {
		return map[string]any{"nodes": pairs(t, "a", "b", "c")}, []change{{args: []string{`-replace=terraform_data.group["b"]`}, applies: 1}}
	},
	"module-per-node": func(t *testing.T) (map[string]any, []change) {
		return map[string]any{"nodes": twos(t, "a", "b", "c")}, []change{
			{args: []string{"-replace=module.b.module.machine.terraform_data.machine"}, applies: 1},
			{vars: map[string]any{"image": "two"}, applies: 3},
		}
	},
	"surge": func(t *testing.T) (map[string]any, []change) {
		older, newer := pairs(t, "a", "b", "c"), pairs(t, "x", "y", "z")
		both := maps.Clone(older)
		maps.Copy(both, newer)
		return map[string]any{"nodes": older}, []change{{vars: map[string]any{"nodes": both}, applies: 1}, {vars: map[string]any{"nodes": newer}, applies: 1}}
	},
	"two-phase": func(t *testing.T) (map[string]any, []change) {
		cluster := etcdtest.Start(t, 3, etcdtest.Options{Version: etcdtest.V36})
		return map[string]any{"endpoints": cluster.Endpoints(), "client_port": etcdtest.ReservePort(t), "peer_port": etcdtest.ReservePort(t)}, nil
	},
	"unknown-addresses": func(t *testing.T) (map[string]any, []change) {
		var ports []int
		for range 12 {
			ports = append(ports, etcdtest.ReservePort(t))
		}
		return map[string]any{"ports": ports, "registry": map[string]int{"client_port": etcdtest.ReservePort(t), "peer_port": etcdtest.ReservePort(t)}}, []change{
			{vars: map[string]any{"nodes": []string{"a", "b", "c", "d"}}, applies: 1},
			{args: []string{`-replace=terraform_data.machine["b"]`}, applies: 1},
		}
	},
	"upgrade": func(t *testing.T) (map[string]any, []change) {
		newer := regexp.MustCompile(`TF_VAR_etcd_version=(\S+)`).FindStringSubmatch(read(t, "upgrade/README.md"))
		if newer == nil {
			t.Fatal("README.md has no newer version")
		}
		return map[string]any{"nodes": twos(t, "a", "b", "c")}, []change{{vars: map[string]any{"etcd_version": newer[1]}, applies: 3}}
	},
}

// pairs returns nodes with two ports each, and twos nodes whose peer port is the next one.
func pairs(t *testing.T, names ...string) map[string]any {
	nodes := map[string]any{}
	for _, name := range names {
		nodes[name] = map[string]int{"client_port": etcdtest.ReservePort(t), "peer_port": etcdtest.ReservePort(t)}
	}
	return nodes
}

func twos(t *testing.T, names ...string) map[string]any {
	nodes := map[string]any{}
	for _, name := range names {
		nodes[name] = etcdtest.ReserveTwoPorts(t)
	}
	return nodes
}

// TestExamplesPlayed does what these examples say. After each change the plan is empty,
// and not before.
func TestExamplesPlayed(t *testing.T) {
	t.Parallel()
	for example, of := range plays {
		t.Run(example, func(t *testing.T) {
			t.Parallel()
			w := acctest.NewWorkspace(t, acctest.WorkspaceOptions{})
			if err := os.CopyFS(w.Dir, os.DirFS(".")); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(filepath.Dir(etcdtest.Binary(t, etcdtest.V36)), filepath.Join(filepath.Dir(w.Dir), "bin")); err != nil {
				t.Fatal(err)
			}
			w.Dir = filepath.Join(w.Dir, example)
			t.Cleanup(func() { endMachines(t, w.Dir) })
			vars, changes := of(t)
			w.Run("get").MustSucceed()
			for _, c := range slices.Concat([]change{{applies: 1}}, changes) {
				maps.Copy(vars, c.vars)
				setVariables(t, w, vars)
				args := c.args
				for range c.applies {
					if plan := w.Plan(args...); plan.ExitCode != 2 {
						t.Fatalf("the plan has exit code %d\n%s", plan.ExitCode, plan)
					}
					w.Apply(args...).MustSucceed()
					args = nil
				}
				w.Plan().MustBeEmpty()
			}
			w.Destroy().MustSucceed()
		})
	}
}

// endMachines ends what a test that failed leaves.
func endMachines(t *testing.T, dir string) {
	files, _ := filepath.Glob(filepath.Join(dir, "machines", "*", ".machine"))
	for _, file := range files {
		t.Errorf("the machine %s is left", filepath.Base(filepath.Dir(file)))
		if out, err := exec.Command("sh", "local-cluster/machine.sh", "down", filepath.Dir(file)).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, strings.TrimSpace(string(out)))
		}
	}
}
