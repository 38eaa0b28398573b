// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package bench_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

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

// measureStart measures the time from the start of a provider's process until
// it has returned its schema, requested as the CLI does.
func measureStart(t *testing.T, c campaign) []bench.Row {
	took := map[string]bench.Sample{}
	starting := func(name, binary string, least int) side {
		return side{name, func(t *testing.T) {
			d, size := startProvider(t, binary)
			if size < least {
				t.Errorf("the schema has %d bytes", size)
			}
			took[name] = append(took[name], 1000*seconds(d))
		}}
	}
	turns(t, c.rounds(40), starting(here, acctest.ProviderBinary(t), 1000), starting("bare", buildBare(t), 1))
	return []bench.Row{{
		Measure: "start of the provider, until its schema", Unit: "ms", Here: took[here],
		Rival: "a minimal framework provider", Against: took["bare"], Goal: bench.Goal{Bound: bench.Ratio, Limit: 1.5},
	}}
}

// buildBare builds the bare provider with the flags of the real one.
func buildBare(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "terraform-provider-bare")
	build := exec.CommandContext(within(t, limit), "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", path, "./bare")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

// startProvider starts a provider's process, requests its schema over gRPC, and
// kills the process. size is the size of the schema.
func startProvider(t *testing.T, binary string) (took time.Duration, size int) {
	t.Helper()
	ctx := within(t, limit)
	cmd := exec.CommandContext(ctx, binary)
	cmd.Env = append(os.Environ(),
		"TF_PLUGIN_MAGIC_COOKIE=d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2",
		"PLUGIN_PROTOCOL_VERSIONS=6")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("no handshake: %v", err)
	}
	// core protocol | plugin protocol | network | address | transport | certificate
	parts := strings.Split(strings.TrimSpace(line), "|")
	if len(parts) < 5 || parts[1] != "6" || parts[4] != "grpc" {
		t.Fatalf("the handshake is %q", line)
	}
	target := parts[3]
	if parts[2] == "unix" {
		target = "unix:" + target
		defer func() { _ = os.Remove(parts[3]) }()
	}
	conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	// The request has no fields. The answer is kept as unknown fields.
	var schema emptypb.Empty
	if err := conn.Invoke(ctx, "/tfplugin6.Provider/GetProviderSchema", &emptypb.Empty{}, &schema); err != nil {
		t.Fatal(err)
	}
	return time.Since(begin), proto.Size(&schema)
}
