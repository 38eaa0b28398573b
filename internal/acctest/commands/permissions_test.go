// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// documentedRoles returns the commands of the guide that create the least
// privileged users, without "etcdctl".
func documentedRoles(t *testing.T) [][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(etcdtest.ModuleRoot(t), "templates", "guides", "network-and-security.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Permissions\n")
	section, _, ok := strings.Cut(section, "\n### ")
	var out [][]string
	for line := range strings.Lines(section) {
		if command, is := strings.CutPrefix(strings.TrimSpace(line), "etcdctl "); is {
			out = append(out, strings.Fields(command))
		}
	}
	if !ok || len(out) < 20 {
		t.Fatalf("the guide has %d commands", len(out))
	}
	return out
}

// The commands of the guide make users that log in with a certificate, which the simulated
// etcd does not know. Root can change the membership, and a planner can plan it. (For what
// each user may do see TestPermissions in package simulated.)
func TestAccPermissions(t *testing.T) {
	t.Parallel()
	pki := etcdtest.NewPKI(t)
	c := etcdtest.Start(t, 1, etcdtest.Options{Version: etcdtest.V36, TLS: pki, Password: "Tr0ub4dor"})
	for _, command := range documentedRoles(t) {
		if command[0] == "user" && command[1] == "add" {
			command = []string{"user", "add", command[2], "--no-password"}
		}
		if _, err := c.Etcdctl(command...); err != nil {
			t.Fatal(err)
		}
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
