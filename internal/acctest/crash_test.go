// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"fmt"
	"syscall"
	"testing"
	"time"
)

// Whatever ends a run between the announcement and the state, the next one
// finishes the join, and there is never a second member of the name.
func TestAccCrashAfterAnnouncement(t *testing.T) {
	t.Parallel()
	for how, end := range map[string]func(r *Running){
		"CLI killed": func(r *Running) { r.Kill() },
		"provider killed": func(r *Running) {
			for _, pid := range r.Providers() {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		},
		"interrupted": func(r *Running) { r.Interrupt() },
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			f := NewFleet(t, FleetOptions{Founders: []string{"a"}})
			f.Form()
			open := announceOnly(t, f, end)
			id := announced(t, f)
			open()
			f.Plan().MustDo(map[string]string{address("etcd_member", "d"): "create"})
			f.Apply().MustSucceed()
			f.MustVote("a", "d")
			if now := fmt.Sprint(f.State(address("etcd_member", "d"))["id"]); now != id {
				t.Errorf("d is %s, and %s was announced", now, id)
			}
			f.Plan().MustBeEmpty()
			f.mustHaveRecords(t, "d")
		})
	}
}

// Where not even the configuration got into the state (a remote one that is
// written now and then, or that of a CLI which keeps it to itself until the
// end), the next run makes another, and takes over what the first announced.
func TestAccCrashWithoutState(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{Founders: []string{"a"}, Static: true})
	f.Form()
	before := f.Read("terraform.tfstate")
	f.Add("d")
	open := f.Gate("d")
	run := f.Start("apply")
	f.awaitAnnouncement()
	run.Kill()
	id := announced(t, f)
	f.Write("terraform.tfstate", before)
	lost := f.records()

	f.Plan().MustDo(changes("d", "create"))
	second := f.Start("apply")
	eventually(t, 60*time.Second, "the announcement is taken over", func() error {
		if fmt.Sprint(f.records()) == fmt.Sprint(lost) {
			return fmt.Errorf("on record are %v", lost)
		}
		return nil
	})
	open()
	second.Wait().MustSucceed()
	f.MustVote("a", "d")
	if now := fmt.Sprint(f.State(address("etcd_member", "d"))["id"]); now != id {
		t.Errorf("d is %s, and %s was announced", now, id)
	}
	f.mustHaveRecords(t, "d")
	f.Plan().MustBeEmpty()
	mustForgetLast(t, f.Destroy().MustSucceed(), "a", "d")
	f.MustBeGone()
}

// awaitAnnouncement returns when d is announced and on record.
func (f *Fleet) awaitAnnouncement() {
	f.tb.Helper()
	f.WaitList("a", "a", "? (learner)")
	eventually(f.tb, 10*time.Second, "the announcement is on record", func() error {
		for _, r := range f.records() {
			if r.Name == "d" && r.State == "announced" {
				return nil
			}
		}
		return fmt.Errorf("%v", f.records())
	})
}

// Where the operator gives the join up instead, the configuration's end takes
// back what was announced for it.
func TestAccBackstop(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{Founders: []string{"a"}})
	f.Form()
	_ = announceOnly(t, f, (*Running).Kill)
	announced(t, f)
	f.Drop("d")
	f.Plan().MustDo(map[string]string{
		address("etcd_member_config", "d"):     "delete",
		address("terraform_data.machine", "d"): "delete",
	})
	f.Apply().MustSucceed().MustBeQuiet()
	f.MustVote("a")
	f.mustHaveRecords(t)
}

// announceOnly adds d, whose etcd does not start, and ends the run that
// announces it. It returns what lets etcd start. The machine is made by a run
// of its own, because not every CLI has written the state when it is killed.
func announceOnly(t *testing.T, f *Fleet, end func(r *Running)) (open func()) {
	t.Helper()
	f.Add("d")
	open = f.Gate("d")
	f.Nodes["d"].Joins = "not yet"
	f.Apply().MustSucceed()
	f.Nodes["d"].Joins = ""
	run := f.Start("apply")
	f.awaitAnnouncement()
	end(run)
	if o := run.Wait(); o.ExitCode == 0 {
		t.Fatal("the run ended as if nothing had happened")
	}
	if s := f.State(address("etcd_member", "d")); s != nil {
		t.Fatalf("the member is in the state: %v", s)
	}
	return open
}

// announced returns the ID of the learner.
func announced(t *testing.T, f *Fleet) string {
	t.Helper()
	f.MustList("a", "? (learner)")
	for _, m := range f.Members("a") {
		if m.IsLearner {
			return fmt.Sprintf("%x", m.ID)
		}
	}
	return ""
}
