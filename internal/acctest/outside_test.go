// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// memberID returns the ID of the listed member with that name.
func (f *Fleet) memberID(name string) uint64 {
	f.tb.Helper()
	for _, m := range f.Members() {
		if m.Name == name {
			return m.ID
		}
	}
	f.tb.Fatalf("no member %s", name)
	return 0
}

// Wipe deletes the data of a machine and boots it again.
func (f *Fleet) Wipe(name string) {
	f.tb.Helper()
	// First end all processes on the machine: a running join script has seen
	// the data, and would start etcd without it.
	dir := filepath.Join(f.Machines, name)
	etcdtest.Eventually(f.tb, name+" stands still", func() error {
		left := processesIn(dir)
		for _, p := range left {
			_ = syscall.Kill(p.pid, syscall.SIGKILL)
		}
		if len(left) > 0 {
			return fmt.Errorf("%d processes run", len(left))
		}
		return nil
	})
	if err := os.RemoveAll(filepath.Join(dir, "data")); err != nil {
		f.tb.Fatal(err)
	}
	f.Repair(name)
}

// Rewrite changes a machine's etcd.env, line by line, and restarts its etcd. It
// returns when the next process runs.
func (f *Fleet) Rewrite(name string, line func(string) string) {
	f.tb.Helper()
	path := filepath.Join(f.Machines, name, "etcd.env")
	text, err := os.ReadFile(path)
	if err != nil {
		f.tb.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	for i, l := range lines {
		lines[i] = line(l)
	}
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		f.tb.Fatal(err)
	}
	was := f.pid(name, "etcd.pid")
	f.Signal(name, syscall.SIGTERM)
	etcdtest.Eventually(f.tb, name+" starts again", func() error {
		if now := f.pid(name, "etcd.pid"); now == 0 || now == was {
			return fmt.Errorf("process %d", now)
		}
		return nil
	})
}

// serves waits until a member answers a linearizable read.
func (f *Fleet) serves(name string) {
	f.tb.Helper()
	client := f.Client(name)
	etcdtest.Eventually(f.tb, name+" serves", func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		_, err := client.Get(ctx, "acctest")
		return err
	})
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
		id := f.memberID(name)
		f.Nodes[name].Joins = "nothing"
		f.Plan().MustDo(map[string]string{address("etcd_member", name): "delete"})
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
			e.mustContain(t, e.Summary, fmt.Sprintf("%s (%x) was removed from the cluster after it had run.", name, id), "ADDRESS is the ", "etcd_member_config of "+name,
				"terraform apply -replace='ADDRESS'", "terraform destroy -refresh=false")
		}
		f.MustVote(left...)
		f.Apply("-replace=" + address("etcd_member_config", name)).MustSucceed()
		f.MustVote("a", "b", "d")
		if f.memberID(name) == id {
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
	id := fmt.Sprintf("%x", f.memberID("a"))
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
