// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

// window sets bootstrap_window.
func (f *Fleet) window(window string) {
	f.tb.Helper()
	f.Write("bootstrap.tf", strings.Replace(staticText, "{\n", "{\n  bootstrap_window = \""+window+"\"\n", 1))
}

// windowOf returns the window in the environment of a node, or zero times if it
// has none.
func (f *Fleet) windowOf(name string) (from, until time.Time) {
	f.tb.Helper()
	env, _ := f.State(address("etcd_member_config", name))["environment"].(map[string]any)
	value, ok := env["ETCD_JOIN_BOOTSTRAP_WINDOW"].(string)
	if !ok {
		return
	}
	a, b, _ := strings.Cut(value, "-")
	begin, err := strconv.ParseInt(a, 10, 64)
	end, err2 := strconv.ParseInt(b, 10, 64)
	if err != nil || err2 != nil {
		f.tb.Fatalf("the window of %s is %q", name, value)
	}
	return time.Unix(begin, 0), time.Unix(end, 0)
}

// Machines that boot after the bootstrap window do not form a cluster. The plan
// says what to do, and that opens a new window.
func TestAccBootstrapWindow(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{Static: true})
	f.window("1s")
	begun := time.Now().Truncate(time.Second)
	f.Apply("-target=etcd_member_config.node").MustSucceed()
	from, until := f.windowOf("a")
	if from.Before(begun) || until.Sub(from) != time.Second {
		t.Errorf("the window of a is from %v to %v, and the apply began at %v", from, until, begun)
	}
	for _, name := range []string{"b", "c"} {
		if from, _ := f.windowOf(name); !from.IsZero() {
			t.Errorf("%s has a window, and is not the first", name)
		}
	}
	time.Sleep(time.Until(until.Add(time.Second)))

	for _, n := range f.Nodes {
		n.Create = "8s"
	}
	const over = "Bootstrap window of a is over"
	told := f.Plan().says(over)
	told.mustContain(t, over, "a, the first initial member, was allowed to form it until "+until.UTC().Format(time.RFC3339))
	f.Apply().MustFail() // no cluster has formed
	f.Plan().says(over)

	// Changing the argument does not open the window of an existing
	// configuration.
	f.window("30m")
	f.Plan().MustDo(map[string]string{
		initialCluster: "update", address("etcd_member", "a"): "create", address("etcd_member", "b"): "create", address("etcd_member", "c"): "create",
	})
	f.Apply().MustFail()
	if _, now := f.windowOf("a"); !now.Equal(until) {
		t.Errorf("the window of a closes at %v, and closed at %v", now, until)
	}
	for _, n := range f.Nodes {
		n.Create = "10m"
	}
	f.asPrinted(told, "destroy -refresh=false -target='ADDRESS'", initialCluster)
	f.asPrinted(told, "apply", "")
	f.MustVote("a", "b", "c")
	if from, until := f.windowOf("a"); until.Sub(from) != 30*time.Minute {
		t.Errorf("the window of a is from %v to %v", from, until)
	}
	f.mustPlanNothing()
	f.Destroy().MustSucceed()
	f.MustBeGone()
}

// The window has no effect on a formed cluster, even if the state does not yet
// show that it has formed.
func TestAccBootstrapWindowOfAFormedCluster(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{Static: true})
	f.window("20s")
	f.Form()
	_, until := f.windowOf("a")
	time.Sleep(time.Until(until.Add(time.Second)))
	f.mustPlanNothing("-refresh=false")
	// The cluster is down, and boots again.
	f.Crash("a", "b", "c")
	off := f.Plan()
	off.MustBeEmpty()
	off.mustNotSay("Bootstrap window")
	f.Repair("a", "b", "c")
	f.MustVote("a", "b", "c")
	f.mustPlanNothing()
}

// mustPlanNothing fails the test unless the plan is empty and has no diagnostics.
func (f *Fleet) mustPlanNothing(args ...string) {
	f.tb.Helper()
	plan := f.Plan(args...)
	plan.MustBeEmpty()
	plan.MustBeQuiet()
}
