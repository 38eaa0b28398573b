// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
)

// setWindow sets bootstrap_window.
func setWindow(f *acctest.Fleet, window string) {
	f.TB.Helper()
	f.Write("bootstrap.tf", strings.Replace(acctest.StaticText, "{\n", "{\n  bootstrap_window = \""+window+"\"\n", 1))
}

// windowOf returns the window in the environment of a node, or zero times if it
// has none.
func windowOf(f *acctest.Fleet, name string) (from, until time.Time) {
	f.TB.Helper()
	env, _ := f.State(acctest.Address("etcd_member_config", name))["environment"].(map[string]any)
	value, ok := env["ETCD_JOIN_BOOTSTRAP_WINDOW"].(string)
	if !ok {
		return
	}
	a, b, _ := strings.Cut(value, "-")
	begin, err := strconv.ParseInt(a, 10, 64)
	end, err2 := strconv.ParseInt(b, 10, 64)
	if err != nil || err2 != nil {
		f.TB.Fatalf("the window of %s is %q", name, value)
	}
	return time.Unix(begin, 0), time.Unix(end, 0)
}

// Machines that boot after the bootstrap window do not form a cluster. The plan
// says what to do, and that opens a new window.
func TestAccBootstrapWindow(t *testing.T) {
	t.Parallel()
	f := acctest.NewFleet(t, acctest.FleetOptions{Static: true})
	setWindow(f, "1s")
	begun := time.Now().Truncate(time.Second)
	f.Apply("-target=etcd_member_config.node").MustSucceed()
	from, until := windowOf(f, "a")
	if from.Before(begun) || until.Sub(from) != time.Second {
		t.Errorf("the window of a is from %v to %v, and the apply began at %v", from, until, begun)
	}
	for _, name := range []string{"b", "c"} {
		if from, _ := windowOf(f, name); !from.IsZero() {
			t.Errorf("%s has a window, and is not the first", name)
		}
	}
	time.Sleep(time.Until(until.Add(time.Second)))

	for _, n := range f.Nodes {
		n.Create = "8s"
	}
	const over = "Bootstrap window of a is over"
	told := f.Plan().Says(over)
	told.MustContain(t, over, "a, the first initial member, was allowed to form it until "+until.UTC().Format(time.RFC3339))
	f.Apply().MustFail() // no cluster has formed
	f.Plan().Says(over)

	// Changing the argument does not open the window of an existing
	// configuration.
	setWindow(f, "30m")
	f.Plan().MustDo(map[string]string{
		acctest.InitialCluster: "update", acctest.Address("etcd_member", "a"): "create", acctest.Address("etcd_member", "b"): "create", acctest.Address("etcd_member", "c"): "create",
	})
	f.Apply().MustFail()
	if _, now := windowOf(f, "a"); !now.Equal(until) {
		t.Errorf("the window of a closes at %v, and closed at %v", now, until)
	}
	for _, n := range f.Nodes {
		n.Create = "10m"
	}
	asPrinted(f, told, "destroy -refresh=false -target='ADDRESS'", acctest.InitialCluster)
	asPrinted(f, told, "apply", "")
	f.MustVote("a", "b", "c")
	if from, until := windowOf(f, "a"); until.Sub(from) != 30*time.Minute {
		t.Errorf("the window of a is from %v to %v", from, until)
	}
	mustPlanNothing(f)
	f.Destroy().MustSucceed()
	f.MustBeGone()
}

// The window has no effect on a formed cluster, even if the state does not yet
// show that it has formed.
func TestAccBootstrapWindowOfAFormedCluster(t *testing.T) {
	t.Parallel()
	f := acctest.NewFleet(t, acctest.FleetOptions{Static: true})
	setWindow(f, "20s")
	f.Form()
	_, until := windowOf(f, "a")
	time.Sleep(time.Until(until.Add(time.Second)))
	mustPlanNothing(f, "-refresh=false")
	// The cluster is down, and boots again.
	f.Crash("a", "b", "c")
	off := f.Plan()
	off.MustBeEmpty()
	off.MustNotSay("Bootstrap window")
	f.Repair("a", "b", "c")
	f.MustVote("a", "b", "c")
	mustPlanNothing(f)
}

// mustPlanNothing fails the test unless the plan is empty and has no diagnostics.
func mustPlanNothing(f *acctest.Fleet, args ...string) {
	f.TB.Helper()
	plan := f.Plan(args...)
	plan.MustBeEmpty()
	plan.MustBeQuiet()
}
