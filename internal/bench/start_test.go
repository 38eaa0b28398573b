// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package bench_test

import (
	"bufio"
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
)

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
