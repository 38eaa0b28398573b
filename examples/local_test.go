// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package examples

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// liveImport imports a cluster of three and rebuilds its nodes, as README.md says.
func liveImport(t *testing.T, w *acctest.Workspace) {
	b := etcdtest.Start(t, 3, etcdtest.Options{Names: []string{"a", "b", "c"}, Version: etcdtest.V36})
	nodes := map[string]any{}
	for _, p := range b.Members() {
		nodes[p.Name] = map[string]string{"client_url": p.ClientURL(), "peer_url": p.PeerURL()}
	}
	id := regexp.MustCompile(`"ClusterID" : ([0-9a-f]+)`).FindStringSubmatch(etcdctl(t, b, "member", "list", "-w", "fields", "--hex"))
	if id == nil {
		t.Fatal("etcdctl prints no cluster ID")
	}
	vars := map[string]any{"nodes": nodes, "cluster_id": id[1], "etcd_version": etcdtest.Release(t, etcdtest.V36), "etcd": etcdtest.Binary(t, etcdtest.V36)}
	setVariables(t, w, vars)
	before := etcdctl(t, b, "member", "list")
	said := regexp.MustCompile(`Plan: \d+ to import, 0 to add, \d+ to change, 0 to destroy\.`).FindString(w.Read("README.md"))
	if plan := w.Plan(); said == "" || !strings.Contains(string(plan.Stdout), said) {
		t.Errorf("the plan is not %q, which README.md says:\n%s", said, plan)
	}
	w.Apply().MustSucceed()
	w.Plan().MustBeEmpty()
	if after := etcdctl(t, b, "member", "list"); after != before {
		t.Errorf("the members were\n%s\nand are\n%s", before, after)
	}

	f := &fleet{Workspace: w, Names: []string{"a", "b", "c"}, ports: map[string]ports{"a": {}, "b": {}, "c": {}}}
	f.write = func() {
		vars["rebuild"] = map[string]string{"a": "1", "b": "1", "c": "1"}
		setVariables(t, w, vars)
	}
	f.roll()
	w.Destroy().MustSucceed()
}

// liveRegistry forms a cluster through a registry where nobody may do more than
// register.
func liveRegistry(t *testing.T, w *acctest.Workspace) {
	port := etcdtest.ReserveTwoPorts(t)
	nodes := map[string]any{}
	for _, name := range []string{"a", "b", "c"} {
		nodes[name] = map[string]int{"client_port": etcdtest.ReservePort(t), "peer_port": etcdtest.ReservePort(t)}
	}
	ctl := etcdtest.EtcdctlBinary(t, etcdtest.V36)
	vars := map[string]any{
		"nodes": nodes, "registry_port": port, "etcd": etcdtest.Binary(t, etcdtest.V36), "etcdctl": ctl,
		"directory": filepath.Join(filepath.Dir(w.Dir), "machines-of-registry"),
	}
	setVariables(t, w, vars)
	w.Apply().MustSucceed()
	w.Plan().MustBeEmpty()
	for name := range maps.Keys(nodes) {
		if role := w.State("etcd_member.node[" + strconv.Quote(name) + "]")["role"]; role != "voter" {
			t.Errorf("%s is a %v, want a voter", name, role)
		}
	}

	t.Log("what the user of the registry may do, and what not")
	// A login on a busy machine takes longer than etcdctl waits by default.
	patience := (etcdtest.WaitLimit / 5).String()
	as := func(user string, args ...string) (string, error) {
		cmd := exec.Command(ctl, append([]string{"--endpoints=http://127.0.0.1:" + strconv.Itoa(port), "--user=" + user, "--command-timeout=" + patience}, args...)...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := as("discovery:register", "get", "--prefix", "--keys-only", "/_etcd/registry/"); err != nil || strings.Count(out, "/members/") != 3 {
		t.Errorf("three members have registered, and seen is (%v)\n%s", err, out)
	}
	for _, args := range [][]string{
		{"get", "/anything"}, {"get", "--prefix", "/"}, {"put", "/_etcd/anything", "x"}, {"member", "add", "x", "--peer-urls=http://127.0.0.1:1"},
		{"user", "list"}, {"auth", "disable"},
	} {
		if out, err := as("discovery:register", args...); err == nil || !strings.Contains(out, "permission denied") {
			t.Errorf("the user discovery may %q (%v):\n%s", args, err, out)
		}
	}
	if out, err := as("discovery:wrong", "get", "--prefix", "/_etcd/registry/"); err == nil {
		t.Errorf("any password will do:\n%s", out)
	}

	t.Log("what the user of one cluster's machines may do, and that it can be removed")
	token := w.State("etcd_discovery_token.this")["token"].(string)
	if out, err := as("cluster-one:join", "get", "--prefix", "--keys-only", "/_etcd/registry/"+token+"/"); err != nil || strings.Count(out, "/members/") != 3 {
		t.Errorf("the machines' user sees (%v)\n%s", err, out)
	}
	for _, args := range [][]string{
		{"get", "--prefix", "/_etcd/registry/"}, {"put", "/_etcd/registry/another/members/1", "x"}, {"put", "/_etcd/registry/" + token + "x/_config/size", "9"},
	} {
		if out, err := as("cluster-one:join", args...); err == nil || !strings.Contains(out, "permission denied") {
			t.Errorf("the machines' user may %q (%v):\n%s", args, err, out)
		}
	}
	forget := exec.Command("sh", filepath.Join(w.Dir, "cluster.sh"), "forget", "cluster-one")
	forget.Env = append(os.Environ(), "ETCDCTL="+ctl, "ETCDCTL_ENDPOINTS=http://127.0.0.1:"+strconv.Itoa(port), "ETCDCTL_COMMAND_TIMEOUT="+patience, "ROOT_PASSWORD=all", "no_proxy=*")
	if out, err := forget.CombinedOutput(); err != nil {
		t.Errorf("cluster.sh forget: %v\n%s", err, out)
	}
	if out, err := as("cluster-one:join", "get", "/_etcd/registry/"+token+"/_config/size"); err == nil {
		t.Errorf("the removed user reads\n%s", out)
	}
	w.Destroy().MustSucceed()
}

func setVariables(t *testing.T, w *acctest.Workspace, values map[string]any) {
	t.Helper()
	text, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	w.Write("terraform.tfvars.json", string(text))
}

// A machine that Terraform creates is new: what creates one does not run
// "machine.sh up", which leaves a machine of the same contents alone.
func TestCreatedMachinesAreNew(t *testing.T) {
	t.Parallel()
	up, created := regexp.MustCompile(`" up\b`), regexp.MustCompile(`" new\b`)
	n := 0
	for _, pattern := range []string{"*/*.tf", "*/*/*.tf", "*/boot.sh"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if up.Match(text) {
				t.Errorf("%s runs machine.sh up", path)
			}
			n += len(created.FindAll(text, -1))
		}
	}
	if n < 9 {
		t.Errorf("%d machines are created with machine.sh new", n)
	}
}
