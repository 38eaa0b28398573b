// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/must"
)

// A member whose store is damaged does not start again. The warning names the line of its
// log, and with replace_unreachable_after the next plan rebuilds its node, although its
// process connects to the others at each start.
func TestAccDamagedStore(t *testing.T) {
	t.Parallel()
	if !etcdtest.Full() {
		t.Skip("a cluster of each version: run make test-full")
	}
	const line = "found data inconsistency with peers"
	for _, v := range []etcdtest.Version{etcdtest.V35, etcdtest.V36, etcdtest.V37} {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			f := NewFleet(t, FleetOptions{Version: v})
			f.MachineEnv["ETCD_SNAPSHOT_COUNT"] = "5" // 3.5 compares from its first snapshot on
			f.Form()
			client := f.Client("a")
			for range 20 {
				if _, err := client.Put(etcdtest.WaitContext(t), "k", "a sound value"); err != nil {
					t.Fatal(err)
				}
			}
			database := filepath.Join(f.Machines, "b", "data", "member", "snap", "db")
			etcdtest.Until(t, "b has stored the value, and a snapshot", func() bool {
				text, _ := os.ReadFile(database)
				snapshots, _ := filepath.Glob(filepath.Join(filepath.Dir(database), "*.snap"))
				return bytes.Contains(text, []byte("a sound value")) && len(snapshots) > 0
			})
			f.Crash("b")
			text, err := os.ReadFile(database)
			if err == nil {
				err = os.WriteFile(database, bytes.ReplaceAll(text, []byte("a sound value"), []byte("a wrong value")), 0o600)
			}
			must.Succeed(t, err)
			f.Repair("b")
			etcdtest.Until(t, "b refuses its store", func() bool {
				log, _ := os.ReadFile(filepath.Join(f.Machines, "b", "etcd.log"))
				return strings.Contains(string(log), line)
			})

			p := f.Plan()
			if !slices.ContainsFunc(p.Diagnostics, func(d Diagnostic) bool {
				return d.Summary == "Member b does not answer" && strings.Contains(d.Detail, line)
			}) {
				t.Errorf("no warning names the line: %s", p)
			}
			f.Write("replace_override.tf", "resource \"etcd_cluster\" \"this\" {\n  replace_unreachable_after = \"1s\"\n}\n")
			f.Apply().MustSucceed() // stores the argument, which the next refresh reads
			actions := f.Plan().Actions()
			if want := map[string]string{cluster: "update", machine("b"): "delete create", member("b"): "delete create"}; !maps.Equal(actions, want) {
				t.Fatalf("the plan changes %v, want %v", actions, want)
			}
			before := f.MemberIDs()
			f.Form()
			f.MustHaveReplaced(before, "b")
			f.Settled()
		})
	}
}
