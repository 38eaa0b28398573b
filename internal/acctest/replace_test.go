// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"fmt"
	"maps"
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

// A node that does not come up with a new image is repaired with one apply, by the image
// before and by a newer one. No other node changes before that.
func TestAccRepairs(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{})
	f.Form()
	for _, image := range []string{"one", "two"} {
		f.breakNext("a")
		before := f.MemberIDs()
		f.Image = image
		f.Form()
		f.MustHaveReplaced(before, "a")
		if image == "one" {
			f.Settled()
		}
	}
	f.Form()
	f.Form()
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
