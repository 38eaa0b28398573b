// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// A member follows its machine: one -replace removes the member, replaces the machine and
// adds the member again, and no write is lost. Two machines at once are refused.
func TestAccReplaceMachine(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{})
	f.Form()
	before := f.MemberIDs()

	writer := f.Writer(f.names()...)
	o := f.Form("-replace=" + machine("b"))
	f.MustNotPause(writer, Pause, f.names()...)
	inOrder(o, done(member("b"), "delete"), begun(machine("b"), "delete"), done(machine("b"), "delete"), begun(machine("b"), "create"), done(machine("b"), "create"), begun(member("b"), "create"))
	f.MustHaveReplaced(before, "b")
	f.Settled()

	before, state, processes := f.MemberIDs(), f.Read("terraform.tfstate"), f.PIDs("a", "b", "c")
	two := f.Apply("-replace="+machine("b"), "-replace="+machine("c"))
	two.MustFail()
	two.Says(Endangered)
	if !maps.Equal(before, f.MemberIDs()) || !maps.Equal(processes, f.PIDs("a", "b", "c")) || state != f.Read("terraform.tfstate") {
		t.Error("the refused apply has changed something")
	}
	f.Settled()
}

// A node that does not come up with a new image is repaired with one apply by the image
// before. No other node changes before that.
func TestAccRepairs(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{})
	f.Form()
	f.breakNext("a")
	before := f.MemberIDs()
	f.Image = "one"
	f.Form()
	f.MustHaveReplaced(before, "a")
	f.Settled()
}

// breakNext applies an image that does not boot, and interrupts the apply when the member
// waits for its machine. Another apply changes no other node.
func (f *Fleet) breakNext(name string) {
	f.TB.Helper()
	f.Image = "broken"
	run := f.Start("apply")
	f.WaitList("b", "? (learner)", "b", "c")
	etcdtest.Eventually(f.TB, "etcd fails on "+name, func() error {
		events := f.Events(name)
		if last := events[len(events)-1]; last.What != "exit 1" {
			return fmt.Errorf("the last event is %v", last)
		}
		return nil
	})
	run.Interrupt()
	run.Wait().MustFail()
	for address, action := range f.Plan().Actions() {
		if address != cluster && !strings.Contains(address, fmt.Sprintf("[%q]", name)) {
			f.TB.Errorf("%s: %s, while %s does not vote", address, action, name)
		}
	}
}

// A machine that loses its disk never starts again by itself. Without
// replace_unreachable_after the plan prints the command, with it the plan rebuilds the
// node.
func TestAccWipedMachine(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{})
	f.Form()
	f.wipe("b")
	etcdtest.Eventually(t, "the plan names b", func() error {
		for _, w := range f.Plan().Warnings() {
			if strings.Contains(w.Detail, "terraform apply -replace='ADDRESS OF THE MACHINE OF b'") {
				return nil
			}
		}
		return errors.New("no such warning")
	})
	before := f.MemberIDs()
	f.Form("-replace=" + machine("b"))
	f.MustHaveReplaced(before, "b")
	f.Settled()

	f.After = "1s"
	f.Form()
	before = f.MemberIDs()
	f.wipe("c")
	p := f.Plan()
	p.MustDo(map[string]string{cluster: "update", machine("c"): "delete create", member("c"): "delete create"})
	f.Form()
	f.MustHaveReplaced(before, "c")
	f.Settled()
}

// wipe deletes the data of a machine and boots it again. It returns when the join script
// has refused to start.
func (f *Fleet) wipe(name string) {
	f.TB.Helper()
	f.Crash(name)
	for _, data := range []string{"data", "etcd.log"} {
		if err := os.RemoveAll(filepath.Join(f.Machines, name, data)); err != nil {
			f.TB.Fatal(err)
		}
	}
	events := len(f.Events(name))
	f.Repair(name)
	etcdtest.Eventually(f.TB, "the join script does not start "+name, func() error {
		text, err := os.ReadFile(filepath.Join(f.Machines, name, "etcd.log"))
		if err == nil && !strings.Contains(string(text), "etcd-join: ") {
			err = fmt.Errorf("the log: %s", text)
		}
		return err
	})
	if now := f.Events(name); len(now) != events {
		f.TB.Errorf("etcd was started: %v", now[events:])
	}
}
