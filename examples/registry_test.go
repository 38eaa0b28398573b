// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package examples

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The commands that the guide has for the user of one cluster's machines are
// those that cluster.sh runs, which the example does against a real registry.
func TestGuidesUserOfTheMachines(t *testing.T) {
	text, err := os.ReadFile("../templates/guides/certificates.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Machines and the discovery cluster\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var want []string
	for line := range strings.Lines(section) {
		if command, is := strings.CutPrefix(strings.TrimSpace(line), "etcdctl "); is {
			want = append(want, command)
		}
	}
	if len(want) != 6 {
		t.Fatalf("the guide has the commands %q", want)
	}

	etcdctl, log := filepath.Join(t.TempDir(), "etcdctl"), filepath.Join(t.TempDir(), "log")
	const records = "#!/bin/sh\n[ \"$1\" = --user=root:all ] || exit 1\nshift\n[ \"$2\" != list ] || { echo \"$LISTED\"; exit; }\necho \"$*\" >>\"$LOG\"\n"
	if err := os.WriteFile(etcdctl, []byte(records), 0o700); err != nil {
		t.Fatal(err)
	}
	for listed, args := range map[string][]string{"another": {"allow", "cluster-one", "TOKEN"}, "cluster-one": {"forget", "cluster-one"}} {
		cmd := exec.Command("sh", append([]string{"registry/cluster.sh"}, args...)...)
		cmd.Env = append(os.Environ(), "ETCDCTL="+etcdctl, "LOG="+log, "LISTED="+listed, "ROOT_PASSWORD=all", "CLUSTER_PASSWORD=join")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("cluster.sh %v: %v\n%s", args, err, out)
		}
	}
	ran, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSpace(strings.ReplaceAll(string(ran), " --interactive=false", "")), "\n")
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("cluster.sh runs %q, the guide has %q", got, want)
	}
}
