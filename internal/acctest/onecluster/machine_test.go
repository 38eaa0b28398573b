// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package onecluster

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// A member follows its machine: one -replace removes the member, replaces the machine and
// adds the member again, and no write is lost. Two machines at once are refused.
func TestAccOneClusterReplacesAMachine(t *testing.T) {
	t.Parallel()
	s := newSite(t, acctest.CLI(t), "a b c")
	s.apply()
	before := s.MemberIDs()

	writer := s.Writer(s.names()...)
	o := s.apply("-replace=" + machine("b"))
	s.MustNotPause(writer, acctest.Pause, s.names()...)
	inOrder(o, done(member("b"), "delete"), begun(machine("b"), "delete"), done(machine("b"), "delete"), begun(machine("b"), "create"), done(machine("b"), "create"), begun(member("b"), "create"))
	s.MustHaveReplaced(before, "b")
	s.settled()

	before, state, processes := s.MemberIDs(), s.Read("terraform.tfstate"), s.PIDs("a", "b", "c")
	two := s.Apply("-replace="+machine("b"), "-replace="+machine("c"))
	two.MustFail()
	two.Says(acctest.Endangered)
	if !maps.Equal(before, s.MemberIDs()) || !maps.Equal(processes, s.PIDs("a", "b", "c")) || state != s.Read("terraform.tfstate") {
		t.Error("the refused apply has changed something")
	}
	s.settled()
}

// A node that does not come up with a new image is repaired with one apply, by the image
// before and by a newer one. No other node changes before that.
func TestAccOneClusterRepairs(t *testing.T) {
	t.Parallel()
	s := newSite(t, acctest.CLI(t), "a b c")
	s.apply()
	for _, image := range []string{"one", "two"} {
		s.breakNext("a")
		before := s.MemberIDs()
		s.Image = image
		s.apply()
		s.MustHaveReplaced(before, "a")
		if image == "one" {
			s.settled()
		}
	}
	s.apply()
	s.apply()
	s.settled()
}

// breakNext applies an image that does not boot, and interrupts the apply when the member
// waits for its machine. Another apply changes no other node.
func (s *site) breakNext(name string) {
	s.TB.Helper()
	s.Image = "broken"
	run := s.Start("apply")
	s.WaitList("b", "? (learner)", "b", "c")
	etcdtest.Eventually(s.TB, "etcd fails on "+name, func() error {
		events := s.Events(name)
		if last := events[len(events)-1]; last.What != "exit 1" {
			return fmt.Errorf("the last event is %v", last)
		}
		return nil
	})
	run.Interrupt()
	run.Wait().MustFail()
	for address, action := range s.Plan().Actions() {
		if address != cluster && !strings.Contains(address, fmt.Sprintf("[%q]", name)) {
			s.TB.Errorf("%s: %s, while %s does not vote", address, action, name)
		}
	}
}
