// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// repetitions is how often tests that must never flake run: ten times in the
// full run.
func repetitions() int {
	if etcdtest.Full() {
		return 10
	}
	return 1
}

// A cluster grows from three to five in one apply, in each layout. Then one
// apply either shrinks it to three under load, or adds one member and removes
// another one. (With ETCD_TEST_FULL=1 in one more layout.)
func TestAccSeveralAtOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		layout layout
		then   func(t *testing.T, f *acctest.Fleet, l layout, args ...string)
		args   []string
	}{
		"one at a time":     {layout: flat, then: growAndShrink, args: []string{"-parallelism=1"}},
		"for_each module":   {layout: moduleForEach, then: growAndShrink},
		"a module for each": {layout: moduleEach, then: shrinkByTwo},
	} {
		if c.layout == moduleForEach && !etcdtest.Full() {
			continue
		}
		for i := range repetitions() {
			t.Run(fmt.Sprintf("%s %d", name, i+1), func(t *testing.T) {
				t.Parallel()
				f := acctest.NewFleet(t, acctest.FleetOptions{})
				useLayout(f, c.layout)
				f.Form()
				growByTwo(t, f, c.layout, c.args...)
				c.then(t, f, c.layout, c.args...)
			})
		}
	}
}

// growByTwo adds d and e: two machines that boot and wait to be added.
func growByTwo(t *testing.T, f *acctest.Fleet, l layout, args ...string) {
	t.Helper()
	f.Add("d", "e")
	f.Plan().MustDo(l.changes("create", "d", "e")) // and no changes of the others
	writer := f.Writer(f.Founders...)
	grown := f.Apply(args...).MustSucceed().MustBeQuiet()
	f.MustNotPause(writer, acctest.Pause, f.Founders...)
	t.Logf("two joins in %v, longest gap %v", grown.Took.Round(time.Millisecond), writer.LongestGap())
	f.MustVote("a", "b", "c", "d", "e")
	f.Plan().MustBeEmpty()
}

// shrinkByTwo removes the leader and a follower under a steady writer.
func shrinkByTwo(t *testing.T, f *acctest.Fleet, l layout, args ...string) {
	t.Helper()
	all := slices.Sorted(maps.Keys(f.Nodes))
	leader := f.Leader(all...)
	others := slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s == leader })
	gone, left := []string{leader, others[0]}, others[1:]
	f.Drop(gone...)
	f.Plan().MustDo(l.changes("delete", gone...))
	// A shorter interval than elsewhere: this test is about the gap.
	writer := etcdtest.NewWriter(t, f.ClientConfig(left...), etcdtest.WriterOptions{Interval: 10 * time.Millisecond})
	shrunk := f.Apply(args...).MustSucceed().MustBeQuiet()
	f.MustNotPause(writer, acctest.Pause, left...)
	t.Logf("two removals, the leader %s among them, in %v: %d writes acknowledged, longest gap %v",
		leader, shrunk.Took.Round(time.Millisecond), len(writer.Acknowledged()), writer.LongestGap())
	f.MustVote(left...)
	if len(f.Log(leader, acctest.HandedOver)) == 0 {
		t.Errorf("the log of %s does not say that it handed leadership over", leader)
	}
	f.Plan().MustBeEmpty()
}

// growAndShrink adds one member and removes the leader in one apply.
func growAndShrink(t *testing.T, f *acctest.Fleet, l layout, args ...string) {
	t.Helper()
	gone := f.Leader(slices.Sorted(maps.Keys(f.Nodes))...)
	f.Drop(gone)
	left := slices.Sorted(maps.Keys(f.Nodes))
	f.Add("f")
	want := l.changes("create", "f")
	maps.Copy(want, l.changes("delete", gone))
	f.Plan().MustDo(want)
	writer := f.Writer(left...)
	f.Apply(args...).MustSucceed().MustBeQuiet()
	f.MustNotPause(writer, acctest.Pause, left...)
	f.MustVote(append(left, "f")...)
	f.Plan().MustBeEmpty()
}

// With only the environment, and no join script, an apply can add only one
// member: the error explains this for the second one.
func TestAccTwoJoinsByEnvironmentAlone(t *testing.T) {
	t.Parallel()
	f := acctest.NewFleet(t, acctest.FleetOptions{Founders: []string{"a"}})
	f.Form()
	f.Add("d", "e")
	without := false
	for _, name := range []string{"d", "e"} {
		f.Nodes[name].Script, f.Nodes[name].Create = &without, "15s"
	}
	e := f.Apply().MustFail().Errors()
	if len(e) != 1 {
		t.Fatalf("%d errors, want 1: %v", len(e), e)
	}
	late := "d"
	if e[0].Summary == "Member e did not join in time" {
		late = "e"
	}
	e[0].MustContain(t, "Member "+late+" did not join in time",
		"has not started",
		"The environment of its etcd_member_config was made for other members and can no longer start it",
		"Run the join script (join_script_base64gzip) before each start, or let one member join per apply.")
	plan := f.Plan()
	plan.MustDo(map[string]string{acctest.Address("etcd_member", late): "create"})
	if status := plan.Drift()[acctest.Address("etcd_member_config", late)].After["status"]; status != "announced" {
		t.Errorf("the status of %s is %v", late, status)
	}

	// The way out in the error: the machine also gets the script.
	f.Nodes[late].Script, f.Nodes[late].Image, f.Nodes[late].Create = nil, "2", "60s"
	f.Apply().MustSucceed()
	f.MustVote("a", "d", "e")
	f.Plan().MustBeEmpty()
}
