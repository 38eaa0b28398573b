// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// Wipe deletes the data of a machine and boots it again.
func (f *Fleet) Wipe(name string) {
	f.TB.Helper()
	// First end all processes on the machine: a running join script has seen
	// the data, and would start etcd without it.
	dir := filepath.Join(f.Machines, name)
	etcdtest.Eventually(f.TB, name+" stands still", func() error {
		left := processesIn(dir)
		for _, p := range left {
			_ = syscall.Kill(p.PID, syscall.SIGKILL)
		}
		if len(left) > 0 {
			return fmt.Errorf("%d processes run", len(left))
		}
		return nil
	})
	if err := os.RemoveAll(filepath.Join(dir, "data")); err != nil {
		f.TB.Fatal(err)
	}
	f.Repair(name)
}

// Only the etcd_member block is removed: the member is removed and its machine
// stays. The identity in its configuration has run and was removed, so it never
// joins again. The command in the refusal gives the machine a new identity.
func TestAccOnlyTheMemberGoes(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{Founders: []string{"a", "b"}})
	f.Form()
	f.Add("d")
	f.Apply().MustSucceed()
	for _, name := range []string{"d", "b"} { // a new and an initial member
		id := f.MemberID(name)
		f.Nodes[name].Joins = "nothing"
		f.Plan().MustDo(map[string]string{Address("etcd_member", name): "delete"})
		f.Apply().MustSucceed()
		left := []string{"a", "b"}
		if name == "b" {
			left = []string{"a", "d"}
		}
		f.MustVote(left...)
		if _, err := os.Stat(filepath.Join(f.Machines, name)); err != nil {
			t.Errorf("the machine of %s: %v", name, err)
		}
		f.Plan().MustBeEmpty()

		f.Nodes[name].Joins = "member"
		for _, wiped := range []bool{false, true} {
			if wiped {
				f.Wipe(name)
			}
			e := f.Plan().MustSay("Cannot add member " + name)
			e.MustContain(t, e.Summary, fmt.Sprintf("%s (%x) was removed from the cluster after it had run.", name, id), "ADDRESS is the ", "etcd_member_config of "+name,
				"terraform apply -replace='ADDRESS'", "terraform destroy -refresh=false")
		}
		f.MustVote(left...)
		f.Apply("-replace=" + Address("etcd_member_config", name)).MustSucceed()
		f.MustVote("a", "b", "d")
		if f.MemberID(name) == id {
			t.Errorf("%s is still %x", name, id)
		}
		f.Plan().MustBeEmpty()
	}
}

// A process with a changed name is the same member: a warning explains this,
// and the plan is empty.
func TestAccRenamedOutside(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{Founders: []string{"a"}})
	f.Form()
	id := fmt.Sprintf("%x", f.MemberID("a"))
	f.Rewrite("a", func(line string) string {
		if strings.HasPrefix(line, "ETCD_NAME=") {
			return "ETCD_NAME=zoe"
		}
		return line
	})
	f.WaitList("a", "zoe")
	plan := f.Plan()
	plan.MustBeEmpty()
	if w := plan.Warnings(); len(w) != 1 || w[0].Summary != "Member a bears another name" {
		t.Fatalf("the warnings are %v", w)
	} else {
		w[0].MustDetail(t, "The process of member "+id+" now calls itself zoe (ETCD_NAME); the state says a. The member is the same, because its ID is. "+
			"Start the process with its former name again; or, to keep the new one, remove the member from the state (terraform state rm) and import it by its ID.")
	}
}
