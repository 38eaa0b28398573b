// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// replaceUnreachableAfter sets replace_unreachable_after for every node.
func (f *Fleet) replaceUnreachableAfter(d time.Duration) {
	f.TB.Helper()
	f.Write("lost_override.tf", fmt.Sprintf("resource \"etcd_member_config\" \"node\" {\n  replace_unreachable_after = %q\n}\n", d))
}

// Rollout passes a value for every node through etcd_rollout; see [Fleet.Want].
// A value that is a version of etcd selects the etcd of the machine.
func (f *Fleet) Rollout(value string) {
	f.TB.Helper()
	f.Write("rollout.tf", f.rolloutBlock())
	f.rolloutAgain()
	f.rolloutBinaries()
	f.Want(value)
}

// rolloutBlock returns the rollout over all nodes of its module.
func (f *Fleet) rolloutBlock() string {
	f.TB.Helper()
	binaries := map[string]string{}
	for _, v := range etcdtest.AllVersions() {
		binaries[string(v)] = etcdtest.Binary(f.TB, v)
	}
	text, err := json.Marshal(binaries)
	if err != nil {
		f.TB.Fatal(err)
	}
	return fmt.Sprintf(`
variable "want" {
  type = string
}

locals {
  binaries = jsondecode(%q)
}

resource "etcd_rollout" "this" {
  desired  = { for name, node in var.nodes : name => var.want }
}
`, text)
}

// rolloutBinaries makes the machines run the version of the rollout.
func (f *Fleet) rolloutBinaries() {
	f.TB.Helper()
	was := f.Read("main.tf")
	now := strings.Replace(was, "= each.value.etcd\n", "= lookup(local.binaries, etcd_rollout.this.effective[each.key], each.value.etcd)\n", 1)
	if now == was {
		f.TB.Fatal("the machines do not say which etcd they run")
	}
	f.Write("main.tf", now)
}

const rolloutOverride = "resource \"etcd_member_config\" \"node\" {\n  triggers_replace = etcd_rollout.this.effective[each.key]\n}\n"

// rolloutAgain makes the rollout control the configurations.
func (f *Fleet) rolloutAgain() {
	f.TB.Helper()
	f.Write("rollout_override.tf", rolloutOverride)
}

// Want changes the desired value of all nodes.
func (f *Fleet) Want(value string) {
	f.TB.Helper()
	f.Write("want.auto.tfvars", fmt.Sprintf("want = %q\n", value))
}

// Lose kills the processes of machines and deletes their directories.
func (f *Fleet) Lose(names ...string) {
	f.TB.Helper()
	f.Crash(names...)
	for _, name := range names {
		if err := os.RemoveAll(filepath.Join(f.Machines, name)); err != nil {
			f.TB.Fatal(err)
		}
	}
}

// Recreate boots a machine again with an empty disk, as if it had been
// recreated outside Terraform from the same user data.
func (f *Fleet) Recreate(name string) {
	f.TB.Helper()
	f.Crash(name)
	if err := os.RemoveAll(filepath.Join(f.Machines, name, "data")); err != nil {
		f.TB.Fatal(err)
	}
	f.Repair(name)
}

// PIDs returns the process IDs of the nodes' etcd, for a later comparison.
func (f *Fleet) PIDs(names ...string) map[string]int {
	f.TB.Helper()
	out := map[string]int{}
	for _, name := range names {
		if out[name] = f.PID(name, "etcd.pid"); out[name] == 0 {
			f.TB.Fatalf("%s has no etcd.pid", name)
		}
	}
	return out
}

// Says returns the only diagnostic with that summary.
func (o *Outcome) Says(summary string) Diagnostic {
	o.TB.Helper()
	var found []Diagnostic
	for _, d := range o.Diagnostics {
		if d.Summary == summary {
			found = append(found, d)
		}
	}
	if len(found) != 1 {
		o.TB.Fatalf("%s: %d times %q, want once, in:\n%s", strings.Join(o.Args, " "), len(found), summary, o.Report())
	}
	return found[0]
}

// MustNotSay fails the test if a summary contains the text.
func (o *Outcome) MustNotSay(text string) {
	o.TB.Helper()
	for _, d := range o.Diagnostics {
		if strings.Contains(d.Summary, text) {
			o.TB.Errorf("%s: unexpected %s", strings.Join(o.Args, " "), d)
		}
	}
}

// node returns the key of the node of a diagnostic, or "" if there is none.
func (d Diagnostic) node() string {
	_, rest, _ := strings.Cut(d.Address, "[\"")
	key, _, _ := strings.Cut(rest, "\"]")
	return key
}

// Rolled returns the actions of a plan that changes one node.
func Rolled(name string) map[string]string {
	out := Changes(name, "delete create")
	out["etcd_rollout.this"] = "update"
	return out
}

// HandedOver is the log message of a leader that transferred its leadership.
const HandedOver = "leadership transfer finished"
