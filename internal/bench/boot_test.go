// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package bench_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/bench"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// slowMachines makes the creation of further machines slow.
const slowMachines = `
resource "terraform_data" "machine" {
  provisioner "local-exec" {
    command = %q
    environment = {
      MACHINE_SH   = self.input.sh
      MACHINE_DIR  = self.input.dir
      MACHINE_ENV  = join("\n", [for k, v in merge(var.environment, etcd_cluster.this.node[each.key].environment) : "${k}=${v}"])
      MACHINE_JOIN = etcd_cluster.this.node[each.key].join_script_base64gzip
      ETCD_BIN     = var.nodes[each.key].etcd
    }
  }

  provisioner "local-exec" {
    when    = destroy
    command = "sh \"$MACHINE_SH\" down \"$MACHINE_DIR\""
    environment = {
      MACHINE_SH  = self.input.sh
      MACHINE_DIR = self.input.dir
    }
  }
}
`

// measureBoot measures how long a member is listed before its process runs, on
// a machine that boots slowly.
func measureBoot(t *testing.T, c campaign) []bench.Row {
	boot := 3 * time.Second
	if c.whole {
		boot = 30 * time.Second
	}
	f := acctest.NewFleet(t, acctest.FleetOptions{})
	f.Form()
	waiting := map[string]bench.Sample{}
	nodes := 0
	applied := func(name, command string) side {
		return side{name, func(t *testing.T) {
			nodes++
			node := fmt.Sprintf("n%d", nodes)
			f.Write("slow_override.tf", fmt.Sprintf(slowMachines, command))
			f.Add(node)
			seen := watch(t, f.Client("a"), f.Nodes[node].Peer)
			f.Apply().MustSucceed()
			d := wait(t, "the start", seen.started).Sub(wait(t, "the addition", seen.listed))
			wait(t, "the vote", seen.voting)
			waiting[name] = append(waiting[name], seconds(d))
			f.Drop(node)
			f.Apply().MustSucceed()
		}}
	}
	sides := []side{
		applied(here, fmt.Sprintf(`sleep %d; sh "$MACHINE_SH" new "$MACHINE_DIR"`, int(boot.Seconds()))),
		{"announced first", func(t *testing.T) {
			p := etcdtest.NewProcess(t, etcdtest.Options{Name: "by-hand"})
			seen := watch(t, f.Client("a"), p.PeerURL())
			printed, id := etcdctlAdds(t, etcdctlOf(t, f), p.Name, p.PeerURL())
			pause(t, boot)
			for _, key := range []string{"ETCD_INITIAL_CLUSTER", "ETCD_INITIAL_CLUSTER_STATE"} {
				p.Env[key] = printedValue(t, printed, key)
			}
			p.Start()
			d := wait(t, "the start", seen.started).Sub(wait(t, "the addition", seen.listed))
			waiting["announced first"] = append(waiting["announced first"], seconds(d))
			if _, err := etcdctlOf(t, f)("member", "remove", id); err != nil {
				t.Error(err)
			}
		}},
	}
	const early = "a machine whose creation ends before it boots"
	if c.whole {
		sides = append(sides, applied(early,
			fmt.Sprintf(`( sleep %d; exec sh "$MACHINE_SH" new "$MACHINE_DIR" ) </dev/null >/dev/null 2>&1 3>&- 4>&- 5>&- 6>&- &`, int(boot.Seconds()))))
	}
	turns(t, c.rounds(3), sides...)
	const measure = bench.Waiting
	rows := []bench.Row{{
		Measure: measure, Case: fmt.Sprintf("a machine that boots for %v", boot), Unit: "s", Here: waiting[here],
		Rival: "added before it boots", Against: waiting["announced first"], Goal: bench.Goal{Bound: bench.Value, Limit: 1},
	}}
	if c.whole {
		rows = append(rows, bench.Row{
			Measure: measure, Case: early, Unit: "s", Here: waiting[early],
			Rival: "added before it boots", Against: waiting["announced first"], Goal: bench.Goal{Bound: bench.Value, Limit: 1},
		})
	}
	return rows
}

// etcdctlOf returns a function that runs etcdctl against the nodes of a fleet.
func etcdctlOf(t *testing.T, f *acctest.Fleet) func(...string) (string, error) {
	return func(args ...string) (string, error) {
		var endpoints []string
		for _, name := range []string{"a", "b", "c"} {
			endpoints = append(endpoints, f.Nodes[name].Client)
		}
		cmd := exec.CommandContext(within(t, time.Minute), etcdtest.EtcdctlBinary(t, etcdtest.DefaultVersion), args...)
		cmd.Env = append(os.Environ(), "ETCDCTL_ENDPOINTS="+strings.Join(endpoints, ","))
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			err = fmt.Errorf("etcdctl %s: %w: %s", strings.Join(args, " "), err, stderr.String())
		}
		return string(out), err
	}
}

// printedValue returns the value that etcdctl member add printed for a variable.
func printedValue(t *testing.T, printed, key string) string {
	t.Helper()
	for line := range strings.Lines(printed) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), key+"="); ok {
			return strings.Trim(rest, `"`)
		}
	}
	t.Fatalf("no %s in %q", key, printed)
	return ""
}

// machineScript runs the script of a fleet's machine directly.
func machineScript(t *testing.T, command, dir string, env ...string) {
	t.Helper()
	cmd := exec.CommandContext(within(t, limit), "sh", filepath.Join("..", "..", "examples", "local-cluster", "machine.sh"), command, dir)
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("machine.sh %s %s: %v\n%s", command, dir, err, out)
	}
}
