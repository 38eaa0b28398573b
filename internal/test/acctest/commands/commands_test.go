// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package commands tests what people type and what a plan answers, where only the real CLI
// and real etcd show it: an import, permissions, a snapshot, and user data. How
// members live, fail and are replaced is tested in package acctest.
package commands

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/joinscript"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/userdata"
)

func TestMain(m *testing.M) { acctest.Main(m) }

// imports are the blocks that import machines, members and the cluster, as in the guide.
//
//go:embed testdata/import.tf
var imports string

// imported is the rule for machines that Terraform has not created.
const imported = `
  lifecycle {
    ignore_changes       = [triggers_replace]
    replace_triggered_by = [etcd_cluster.this.node[each.key].id]
  }
`

// A cluster that runs is imported: nothing is touched, and the next plan is empty. With
// rebuild, node and machine follow, and the member has another ID.
func TestAccImport(t *testing.T) {
	t.Parallel()
	f := acctest.NewFleet(t, acctest.FleetOptions{Version: etcdtest.V37})
	f.BootByHand()
	pids := func() string {
		return fmt.Sprint(f.PID("a", "etcd.pid"), f.PID("b", "etcd.pid"), f.PID("c", "etcd.pid"))
	}
	before, processes := f.MemberIDs(), pids()
	f.Write("provider.tf", acctest.Access{Endpoints: []string{f.Nodes["a"].Client}}.ProviderConfig())
	const created = "node[each.key].revision]\n"
	f.Write("main.tf", strings.Replace(acctest.FleetText, created, created+imported, 1))
	f.Write("import.tf", fmt.Sprintf(imports, f.ClusterID()))
	p := f.Plan()
	for address, action := range p.Actions() {
		if action != "update" {
			t.Errorf("%s: %s", address, action)
		}
	}
	if !strings.Contains(string(p.Stdout), "Plan: 7 to import, 0 to add, ") {
		t.Errorf("the plan imports less:\n%s", p.Outcome)
	}
	f.Form()
	f.Write("import.tf", "")
	f.Settled()
	f.MustHaveReplaced(before)

	if now := pids(); now != processes {
		t.Errorf("the processes were %v and are %v", processes, now)
	}

	f.Rebuild = map[string]string{"b": "1"}
	writer := f.Writer(50 * time.Millisecond)
	f.Form()
	f.MustNotPause(writer)
	f.MustHaveReplaced(before, "b")
	f.Settled()
}

// The commands of the guide make users that log in with a certificate, which the simulated
// etcd does not know. Root can change the membership, and a planner can plan it. (For what
// each user may do see TestPermissions in package simulated.)
func TestAccPermissions(t *testing.T) {
	t.Parallel()
	pki := etcdtest.NewPKI(t)
	c := etcdtest.Start(t, 1, etcdtest.Options{Version: etcdtest.V36, TLS: pki, Password: "Tr0ub4dor"})
	for _, line := range acctest.Permissions(t) {
		command := strings.Fields(line)[1:]
		if command[0] == "user" && command[1] == "add" {
			command = append(command[:3], "--no-password")
		}
		_, err := c.Etcdctl(command...)
		must.Succeed(t, err)
	}
	w := acctest.NewWorkspace(t, acctest.WorkspaceOptions{})
	as := func(user string) {
		access := acctest.Access{Endpoints: c.Endpoints(), PKI: pki, Cert: pki.Client(user)}
		w.Write("provider.tf", acctest.Required+access.ProviderConfig())
	}
	w.Write("main.tf", `
resource "etcd_learner" "d" {
  name       = "d"
  peer_urls  = ["http://127.0.0.9:2380"]
  wait_until = "announced"
}
`)
	as("planner")
	w.Apply().MustSay("Cannot add member d", "permission denied")
	as("terraform")
	w.Apply().MustSucceed()
	as("planner")
	w.Plan().MustBeEmpty()
	w.Destroy().MustSay("Cannot remove member d", "permission denied")
	as("terraform")
	w.Destroy().MustSucceed()
}

// A snapshot is taken under writes while a member is down: etcdutl accepts it, it has what
// was acknowledged before, neither the dead member nor the leader is used for it, and the
// next plan is empty.
func TestAccSnapshot(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 3, etcdtest.Options{})
	w := acctest.NewWorkspace(t, acctest.WorkspaceOptions{})
	w.Write("main.tf", acctest.Required+acctest.Access{Endpoints: c.Endpoints()}.ProviderConfig()+`
resource "etcd_snapshot" "this" {
  path = "etcd.db"
}
`)
	down := c.Leader(t)
	down.Kill()
	leader := c.Leader(t)
	c.NewWriter(t, 10*time.Millisecond)
	before, err := c.Client(t).Put(etcdtest.WaitContext(t), "key", "value")
	must.Succeed(t, err)
	w.Apply().MustSucceed().MustBeQuiet()
	path := filepath.Join(w.Dir, "etcd.db")
	revision, state := etcdtest.EtcdutlStatus(t, path), w.State("etcd_snapshot.this")
	if of := state["member_name"]; revision < before.Header.Revision || of == down.Name || of == leader.Name {
		t.Errorf("of %v revision %d was saved, and revision %d was acknowledged before", of, revision, before.Header.Revision)
	}
	if at, err := os.Stat(path); err != nil || at.Mode() != 0o600 {
		t.Errorf("%v, %v", at, err)
	}
	w.Plan().MustBeEmpty()
}

// Other bytes replace the machine, so user data has the same ones on every CLI: those that
// the provider makes.
func TestAccUserData(t *testing.T) {
	acctest.OnEach(t, func(t *testing.T, cli string) {
		w := acctest.NewWorkspace(t, acctest.WorkspaceOptions{CLI: cli})
		script := joinscript.Static().Base64Gzip
		options := map[string]any{
			"etcd": map[string]any{"path": "/usr/bin"}, "environment": map[string]any{"ETCD_LOG_OUTPUTS": "<a> & \"ü\" $b \\"}, "extra": map[string]any{"hostname": "a"},
		}
		kinds := map[string]func(userdata.Node, userdata.Options) (string, error){"cloud_config": userdata.CloudConfig, "ignition": userdata.Ignition}
		text, wants := "", map[string]string{}
		for name, write := range kinds {
			for _, compress := range []bool{false, true} {
				options["compress"] = compress
				o, _, err := userdata.Parse(options)
				must.Succeed(t, err)
				want, err := write(userdata.Node{Environment: map[string]string{"ETCD_NAME": "a"}, JoinScriptBase64Gzip: script, Format: userdata.Format}, o)
				must.Succeed(t, err)
				given, err := json.Marshal(options)
				must.Succeed(t, err)
				resource := fmt.Sprintf("%s_%v", name, compress)
				wants["terraform_data."+resource] = want
				text += fmt.Sprintf("resource \"terraform_data\" %q {\n  input = provider::etcd::%s(local.node, jsondecode(%q))\n}\n", resource, name, given)
			}
		}
		node := "locals {\n  node = { environment = { ETCD_NAME = \"a\" }, join_script_base64gzip = %q, version = null, start = jsonencode({ format = %d }) }\n}\n"
		w.Write("main.tf", acctest.Required+fmt.Sprintf(node, script, userdata.Format)+text)
		w.Apply().MustSucceed()
		for address, want := range wants {
			if got, _ := w.State(address)["output"].(map[string]any); got["value"] != want {
				t.Errorf("%s: %v\nwant %s", address, got, want)
			}
		}
		w.Plan().MustBeEmpty()
	})
}
