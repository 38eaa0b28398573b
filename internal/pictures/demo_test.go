// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

func TestMain(m *testing.M) { acctest.Main(m) }

// The demo checks itself. It prints what its picture shows, and leaves no files. What a
// user has set has no effect.
func TestDemo(t *testing.T) {
	t.Parallel()
	tmp := t.TempDir()
	demo := exec.CommandContext(etcdtest.WaitContext(t), filepath.Join(root, "tools", "demo"))
	demo.Env = append(os.Environ(), "TMPDIR="+tmp, "CLI="+acctest.CLI(t), "PROVIDER="+acctest.ProviderBinary(t),
		"ETCD="+etcdtest.Binary(t, etcdtest.V36), "ETCDCTL="+etcdtest.EtcdctlBinary(t, etcdtest.V36),
		"TF_LOG=error", "TF_CLI_ARGS_plan=-no-such-flag", "TF_VAR_directory=/nowhere", "ETCDCTL_ENDPOINTS=nowhere:1", "ETCD_NAME=nobody")
	text, err := demo.CombinedOutput()
	out := string(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
	if strings.Contains(out, "\x1b") {
		t.Error("there are escape sequences in what is no terminal")
	}
	// The picture shows a run whose leader was one of a, b and c, as in nearly every run.
	if strings.Contains(out, ", the leader, is removed") {
		printed := regexp.MustCompile(`(?m)^ *\d+\.\d( {2}|$)`).ReplaceAllString(recorded, "")
		if got, want := shape(out), shape(printed); got != want {
			t.Errorf("the recording is not what the demo prints: run make recording\n%s\nthe recording:\n%s", got, want)
		}
	}
}

// shape returns the output without the parts that differ between two runs.
func shape(out string) string {
	for _, varies := range []struct{ pattern, as string }{
		{`(Terraform|OpenTofu) v\S+`, "CLI"},
		{`\d+\.\d+\.\d+`, "VERSION"},
		{`everything in \S+`, "DIRECTORY"},
		{`[0-9a-f]{16}|[0-9a-f]{15} |[0-9a-f]{14} `, "ID"},
		{`(127\.0\.0\.1|VERSION\.1):\d+`, "PORT"},
		{`\d\d:\d\d:\d\d\.\d+`, "TIME"},
		{`\d+\.\d s`, "SECONDS"},
		{`All \d+ processes`, "PROCESSES"},
		{`voter +leader`, "voter"},
		{`\b[a-d]\b`, "NAME"},
		{` +`, " "},
	} {
		out = regexp.MustCompile(varies.pattern).ReplaceAllString(out, varies.as)
	}
	return out
}
