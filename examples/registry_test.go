// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package examples

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// The users of the discovery cluster of the example may register and nothing else: that
// of Terraform with every token, that of a cluster's machines with theirs, until it is
// removed. The commands that make and remove it are those that the guide has.
func TestUsersOfTheRegistry(t *testing.T) {
	t.Parallel()
	b := etcdtest.Start(t, 1, etcdtest.Options{Names: []string{"registry"}, Version: etcdtest.V36})
	ctl, log := filepath.Join(t.TempDir(), "etcdctl"), filepath.Join(t.TempDir(), "log")
	// A login on a busy machine takes longer than etcdctl waits by default.
	run := func(program string, args ...string) (string, error) {
		cmd := exec.CommandContext(etcdtest.WaitContext(t), program, args...)
		cmd.Env = append(os.Environ(), "ETCDCTL="+ctl, "ETCDCTL_ENDPOINTS="+b.Endpoints()[0], "ETCDCTL_COMMAND_TIMEOUT="+(etcdtest.WaitLimit/5).String(),
			"ROOT_PASSWORD=all", "DISCOVERY_PASSWORD=register", "CLUSTER_PASSWORD=join", "no_proxy=*")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	call := func(program string, args ...string) {
		t.Helper()
		if out, err := run(program, args...); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
	}
	real, err := filepath.Abs(etcdtest.EtcdctlBinary(t, etcdtest.V36))
	must(t, err)
	write(t, ctl, "#!/bin/sh\necho \"$*\" >>'"+log+"'\nexec '"+real+"' \"$@\"\n")
	must(t, os.Chmod(ctl, 0o700))
	call("sh", "registry/secure.sh")
	call("sh", "registry/cluster.sh", "allow", "cluster-one", "TOKEN")
	const registered = "/_etcd/registry/TOKEN/members/1"
	call(real, "--user=cluster-one:join", "put", registered, "a=http://127.0.0.1:1")
	call(real, "--user=discovery:register", "get", registered)
	for _, c := range []struct{ user, command string }{
		{"discovery:register", "get /anything"}, {"discovery:register", "get --prefix /"}, {"discovery:register", "put /_etcd/anything x"},
		{"discovery:register", "member add x --peer-urls=http://127.0.0.1:1"}, {"discovery:register", "user list"}, {"discovery:register", "auth disable"},
		{"cluster-one:join", "get --prefix /_etcd/registry/"}, {"cluster-one:join", "put /_etcd/registry/another/members/1 x"},
		{"cluster-one:join", "put /_etcd/registry/TOKENx/_config/size 9"}, {"discovery:wrong", "get " + registered},
	} {
		if out, err := run(real, append([]string{"--user=" + c.user}, strings.Fields(c.command)...)...); err == nil || !strings.Contains(out, "permission denied") && !strings.Contains(out, "authentication failed") {
			t.Errorf("%s may %q (%v):\n%s", c.user, c.command, err, out)
		}
	}
	call("sh", "registry/cluster.sh", "forget", "cluster-one")
	if out, err := run(real, "--user=cluster-one:join", "get", registered); err == nil {
		t.Errorf("the removed user reads\n%s", out)
	}

	_, section, _ := strings.Cut(read(t, "../templates/guides/certificates.md"), "\n## Machines and the discovery cluster\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var want, got []string
	for line := range strings.Lines(section) {
		if command, is := strings.CutPrefix(strings.TrimSpace(line), "etcdctl "); is {
			want = append(want, command)
		}
	}
	for _, call := range regexp.MustCompile(`(?m)^--user=root:all (\S+ .*)$`).FindAllStringSubmatch(read(t, log), -1) {
		if command := strings.ReplaceAll(call[1], " --interactive=false", ""); !strings.HasSuffix(command, " list") {
			got = append(got, command)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if len(want) != 6 || !slices.Equal(got, want) {
		t.Errorf("cluster.sh runs %q, the guide has %q", got, want)
	}
}
