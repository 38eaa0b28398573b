// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"errors"
	"maps"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// rolledInTurn returns the actions of a plan that changes these nodes, each
// with its own rollout.
func rolledInTurn(names ...string) map[string]string {
	out := moduleEach.changes("delete create", names...)
	for _, name := range names {
		out["module."+name+".etcd_rollout.this"] = "update"
	}
	return out
}

// With a module block for each node, a changed image reaches all machines in
// one apply, one after the other, and writes continue.
func TestAccRolloutInOneApply(t *testing.T) {
	if !etcdtest.Full() {
		t.Skip("an example shows it: set ETCD_TEST_FULL=1")
	}
	t.Parallel()
	f := acctest.NewFleet(t, acctest.FleetOptions{})
	useLayout(f, moduleEach)
	f.RolloutInTurn("one")
	f.Form()
	f.Plan().MustBeEmpty()

	names := slices.Sorted(maps.Keys(f.Nodes))
	f.Want("two")
	p := f.Plan()
	p.MustDo(rolledInTurn(names...))
	for _, name := range names {
		p.Says("Rollout: "+name+" is replaced in turn").MustContain(t, "Rollout: "+name+" is replaced in turn", "they take turns")
	}
	writer := f.Writer(names...)
	begin := time.Now()
	applied := f.Apply().MustSucceed()
	took := time.Since(begin)
	f.MustNotPause(writer, acctest.Pause, names...)
	t.Logf("all of %v replaced in %v, longest gap between writes %v", names, took.Round(time.Millisecond), writer.LongestGap())
	mustTakeTurns(t, applied, names...)
	f.MustVote(names...)
	f.Plan().MustBeEmpty()
}

// mustTakeTurns fails the test unless each member was removed only after the
// previous one had joined again.
func mustTakeTurns(t *testing.T, o *acctest.Outcome, names ...string) {
	t.Helper()
	left := func(name string) time.Time {
		return o.At("apply_complete", moduleEach.address("etcd_member", name), "delete")
	}
	slices.SortFunc(names, func(a, b string) int { return left(a).Compare(left(b)) })
	for i, name := range names[1:] {
		before := o.At("apply_complete", moduleEach.address("etcd_member", names[i]), "create")
		if machine := o.At("apply_start", moduleEach.address("terraform_data.machine", name), "delete"); machine.Before(before) {
			t.Errorf("the machine of %s went at %v, and %s was back at %v", name, machine, names[i], before)
		}
		if left(name).Before(before.Add(-time.Second)) {
			t.Errorf("%s left at %v, and %s was back at %v", name, left(name), names[i], before)
		}
	}
	if !slices.IsSorted(names) {
		t.Errorf("the order was %v", names)
	}
}

// A machine that does not boot stops the rollout without changes of the others.
// After a correction, one plan continues with it alone, the next with the others.
func TestAccRolloutInOneApplyWithAMachineThatDoesNotBoot(t *testing.T) {
	if !etcdtest.Full() {
		t.Skip("whose turn it is is tested without a CLI: set ETCD_TEST_FULL=1")
	}
	t.Parallel()
	f := acctest.NewFleet(t, acctest.FleetOptions{})
	useLayout(f, moduleEach)
	f.RolloutInTurn("one")
	f.Form()
	before := f.PIDs("a", "c")
	mended := f.Nodes["b"].Etcd
	_ = f.Break("b")
	f.Nodes["b"].Create = "8s"
	writer := f.Writer("a", "c")
	f.Want("two")
	failed := f.Apply().MustFail()
	if len(failed.Errors()) != 2 {
		t.Errorf("%d errors, want 2:\n%s", len(failed.Errors()), failed.Report())
	}
	failed.Says("Member b did not join in time")
	failed.Says("Cannot remove member c").MustContain(t, "Cannot remove member c",
		"A live member is removed for its replacement only when no other replacement is under way. b was removed at ", " by ", ", and its replacement is not a voting member yet. Nothing was changed. Let b join first")
	now := f.PIDs("a", "c")
	if now["a"] == before["a"] || now["c"] != before["c"] {
		t.Errorf("a and c ran as %v, and run as %v", before, now)
	}

	t.Log("nobody else may be replaced now")
	replace := "-replace=" + moduleEach.address("etcd_member_config", "c")
	f.Plan(replace).MustSay(acctest.Endangered).MustContain(t, acctest.Endangered, "It replaces "+f.Named("c")+", and another replacement is not over. b was removed at ",
		"Nothing has been changed. Let b join first: if no other run is at it, apply without this replacement.")
	p := f.Plan()
	p.MustDo(map[string]string{moduleEach.address("etcd_member", "b"): "create", "module.c.etcd_rollout.this": "update"}) // it shows that c waits
	p.Says("Rollout: no member is replaced by this plan").MustContain(t, "Rollout: no member is replaced by this plan", "b is not in the cluster")

	t.Log("corrected by another image")
	f.Nodes["b"].Etcd, f.Nodes["b"].Create = mended, "90s"
	f.Want("three")
	want := rolledInTurn("b")
	want[moduleEach.address("etcd_member", "b")] = "create"
	for _, name := range []string{"a", "c"} {
		want["module."+name+".etcd_rollout.this"] = "update" // they show that both wait
	}
	f.Plan().MustDo(want)
	f.Apply().MustSucceed()
	if also := f.PIDs("a", "c"); !maps.Equal(also, now) {
		t.Errorf("a and c ran as %v, and run as %v", now, also)
	}
	f.Plan().MustDo(rolledInTurn("a", "c"))
	mustTakeTurns(t, f.Apply().MustSucceed(), "a", "c")
	f.MustNotPause(writer, acctest.Pause, "a", "b", "c")
	f.MustVote("a", "b", "c")
	f.Plan().MustBeEmpty()
}

// If nodes cannot take turns in one apply, a plan that requires it is refused,
// and no process is restarted.
func TestAccRolloutInOneApplyEntangled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		layout layout
		args   []string
	}{
		"for_each module": {layout: moduleForEach},
		"too few hands":   {layout: moduleEach, args: []string{"-parallelism=1"}},
	} {
		if !etcdtest.Full() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := acctest.NewFleet(t, acctest.FleetOptions{})
			useLayout(f, c.layout)
			f.RolloutInTurn("one")
			f.Form()
			before := f.PIDs("a", "b", "c")
			f.Want("two")
			errors := f.Apply(c.args...).MustFail().Errors()
			for _, e := range errors {
				e.MustContain(t, "The nodes cannot be replaced in one apply", "Nothing has been changed.", "-parallelism of at least their number")
			}
			if len(errors) == 0 {
				t.Error("no error")
			}
			if now := f.PIDs("a", "b", "c"); !maps.Equal(now, before) {
				t.Errorf("processes were %v and are %v", before, now)
			}
			f.MustVote("a", "b", "c")
		})
	}

	t.Run("one rollout for all", func(t *testing.T) {
		t.Parallel()
		f := acctest.NewFleet(t, acctest.FleetOptions{})
		f.Rollout("one")
		f.Write("single_apply_override.tf", "resource \"etcd_rollout\" \"this\" {\n  single_apply = true\n}\n")
		f.Plan().MustSay("single_apply needs a rollout for each node").MustContain(t, "single_apply needs a rollout for each node", "desired has 3 names.")
	})
}

// If a run is killed while one member is removed, every other replacement is
// blocked until a later run has brought this member back.
func TestAccRolloutInOneApplyKilled(t *testing.T) {
	if !etcdtest.Full() {
		t.Skip("what is on record is tested without a CLI: set ETCD_TEST_FULL=1")
	}
	t.Parallel()
	f := acctest.NewFleet(t, acctest.FleetOptions{})
	useLayout(f, moduleEach)
	f.RolloutInTurn("one")
	f.Form()
	before := f.PIDs("b", "c")
	open := f.Gate("a")
	f.Want("two")
	run := f.Start("apply")
	f.WaitList("b", "b", "c")
	etcdtest.Eventually(t, "the machine of a is made anew", func() error {
		if f.PID("a", "supervisor.pid") == 0 {
			return errors.New("no supervisor")
		}
		return nil
	})
	providers := run.Providers()
	run.Kill()
	for _, pid := range providers {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	open()
	if now := f.PIDs("b", "c"); !maps.Equal(now, before) {
		t.Errorf("b and c ran as %v, and run as %v", before, now)
	}
	replace := "-replace=" + moduleEach.address("etcd_member_config", "c")
	f.Plan(replace, "-lock=false").MustSay(acctest.Endangered).MustContain(t, acctest.Endangered, "a was removed at ")

	t.Log("to the end")
	for applies := 0; f.Plan("-lock=false").ExitCode != 0; applies++ {
		if applies == 3 {
			t.Fatalf("the plan is not empty after %d applies", applies)
		}
		f.Apply("-lock=false").MustSucceed()
	}
	f.MustVote("a", "b", "c")
}
