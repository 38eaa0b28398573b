// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// mustHandOver fails the test unless the node transferred its leadership since
// then, or lost it to another member before.
func (f *Fleet) mustHandOver(t *testing.T, name string, since time.Time) {
	t.Helper()
	for _, msg := range []string{HandedOver, "became follower"} {
		for _, line := range f.Log(name, msg) {
			if line.At.After(since) {
				t.Logf("%s: %s at %s", name, msg, line.At.Format("15:04:05.000"))
				return
			}
		}
	}
	t.Errorf("the log of %s does not say that it handed leadership over", name)
}

// roll applies until all nodes have the desired value. It fails the test unless
// each plan changes exactly the next name, each apply succeeds, the plan after
// the last one is empty, and no acknowledged write is lost.
func (f *Fleet) roll(t *testing.T, value string, each func(name string)) {
	t.Helper()
	names := slices.Sorted(maps.Keys(f.Nodes))
	effective, _ := f.State("etcd_rollout.this")["effective"].(map[string]any)
	f.Want(value)
	for _, name := range names {
		leads, since := f.Leader(names...) == name, time.Now()
		writer := f.Writer(names...)
		p := f.Plan()
		p.MustDo(Rolled(name))
		effective[name] = value
		p.MustKnow("etcd_rollout.this", "effective", effective)
		p.Says("Rollout: " + name + " is next")
		begin := time.Now()
		f.Apply().MustSucceed()
		took := time.Since(begin)
		f.MustNotPause(writer, Pause, names...)
		t.Logf("%s has %q after %v, longest gap between writes %v", name, value, took.Round(time.Millisecond), writer.LongestGap())
		if leads {
			f.mustHandOver(t, name, since)
		}
		f.MustVote(names...)
		if each != nil {
			each(name)
		}
	}
	f.Plan().MustBeEmpty()
}

// A changed image reaches one machine per apply, and writes continue.
func TestAccRolloutOfAnImage(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{Founders: rolloutSize()})
	f.Rollout("one")
	f.Form()
	f.Plan().MustBeEmpty()
	machines := map[string]any{}
	for name := range f.Nodes {
		machines[name] = f.State(Address("terraform_data.machine", name))["id"]
	}
	f.roll(t, "two", func(name string) {
		for other, id := range machines {
			now := f.State(Address("terraform_data.machine", other))["id"]
			if replaced := now != id; replaced != (other == name) {
				t.Errorf("after %s: machine of %s replaced: %v", name, other, replaced)
			}
			machines[other] = now
		}
	})

	t.Log("names that come hold the others up, and have what is wanted at once")
	f.Want("three")
	f.Add("x")
	p := f.Plan()
	grown := Changes("x", "create")
	grown["etcd_rollout.this"] = "update"
	p.MustDo(grown)
	p.Says("Rollout: no member is replaced by this plan").MustContain(t, "Rollout: no member is replaced by this plan", "The plan adds or removes members")
	f.Apply().MustSucceed()
	f.Plan().MustDo(Rolled("a"))

	t.Log("a member that is not well holds everybody up")
	f.Crash("x")
	p = f.Plan()
	p.MustDo(map[string]string{})
	p.Says("Rollout: no member is replaced by this plan").MustContain(t, "Rollout: no member is replaced by this plan", "because not every member is healthy: x (", "does not answer")
	f.Repair("x")
	etcdtest.Eventually(t, "x is back", func() error {
		if got := f.Plan().Actions(); !maps.Equal(got, Rolled("a")) {
			return fmt.Errorf("planned: %v", got)
		}
		return nil
	})
}

// A rollout is interrupted when the successor runs but is not promoted. It does
// not continue before the promotion: the next apply promotes the successor, and
// the next plan changes the next node.
func TestAccRolloutCutShort(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{})
	f.Rollout("one")
	tap := etcdtest.NewTap(t)
	f.clients = map[string]*clientv3.Client{}
	f.reachThrough(tap)
	f.Form()
	f.Want("two")
	started := make(chan *Running, 1)
	tap.Watch(etcdtest.Call{Method: "MemberPromote", Nth: 1}, etcdtest.Before, func() bool {
		return providerKilled.act(<-started)
	})
	run := f.Start("apply")
	started <- run
	if o := run.Wait(); !tap.Fired() || o.ExitCode == 0 {
		t.Fatalf("no promotion was cut short; exit code %d", o.ExitCode)
	}
	tap.Watch(etcdtest.Call{}, etcdtest.Before, nil)
	f.MustList("a (learner)", "b", "c")
	f.ExpireLock()

	p := f.Plan()
	if got := p.Actions(); got[Address("etcd_member", "b")] != "" || got[Address("etcd_member", "c")] != "" {
		t.Errorf("planned before a has its vote: %v", got)
	}
	p.Says("Rollout: no member is replaced by this plan").MustContain(t, "Rollout: no member is replaced by this plan", "a (", "is not a voting member yet")
	f.Apply().MustSucceed()
	f.MustVote("a", "b", "c")
	f.Plan().MustDo(Rolled("b"))
}

func rolloutSize() []string {
	if etcdtest.Full() {
		return []string{"a", "b", "c", "d", "e"}
	}
	return []string{"a", "b", "c"}
}

// The guard also protects without etcd_rollout: a new image for all nodes at
// once is refused, and so is an outdated plan. No process is restarted.
func TestAccRolloutBypassed(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{})
	f.Rollout("one")
	f.Form()
	before := f.PIDs("a", "b", "c")
	untouched := func(names ...string) {
		t.Helper()
		now := f.PIDs(names...)
		for _, name := range names {
			if now[name] != before[name] {
				t.Errorf("%s runs as %d, and was %d", name, now[name], before[name])
			}
		}
	}

	t.Log("another image on all machines, and nothing else")
	for _, n := range f.Nodes {
		n.Image = "two"
	}
	for _, e := range f.Plan().MustFail().Errors() {
		if e.Summary != "Machine of member "+e.node()+" would be replaced alone" {
			t.Errorf("unexpected %s", e)
		}
	}
	f.Apply().MustFail()
	untouched("a", "b", "c")

	t.Log("another configuration for all")
	for _, n := range f.Nodes {
		n.Image = ""
	}
	f.Write("rollout_override.tf", "resource \"etcd_member_config\" \"node\" {\n  triggers_replace = var.want\n}\n")
	f.Want("two")
	f.Plan().MustEndanger("It replaces ", "A member counts as replaced if its etcd_member_config is", "Nothing has been changed.", "etcd_rollout")
	f.Apply().MustFail()
	untouched("a", "b", "c")

	t.Log("a saved plan, and another member dies")
	f.rolloutAgain()
	p := f.Plan()
	p.MustDo(Rolled("a"))
	c := f.Named("c")
	f.Crash("c")
	late := f.Run("apply", "-json", "-input=false", p.File)
	e := late.MustSay("Cannot remove member a")
	e.MustContain(t, e.Summary, "A live member is removed for its replacement only while every other member is active. "+c+" does not answer", "Nothing was changed.")
	untouched("a", "b")
	f.MustList("a", "b", "c")
	f.Repair("c")
	f.MustVote("a", "b", "c")
	f.Plan().MustDo(Rolled("a"))
}

// A machine that Terraform no longer knows, or that was recreated without its
// data, never becomes a voter under the previous identity.
func TestAccMachineBehindTerraformsBack(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{})
	f.replaceUnreachableAfter(lostAfter)
	f.Form()
	before := f.PIDs("a", "b", "c")

	t.Log("forgotten by the state: the plan would make a new one")
	machine := Address("terraform_data.machine", "b")
	f.Run("state", "rm", machine).MustSucceed()
	p := f.Plan()
	e := p.MustSay("Machine of member b would be replaced alone")
	e.MustContain(t, e.Summary, "Nothing has been changed.", "terraform apply -replace='ADDRESS'")
	if now := f.PIDs("a", "b", "c"); !maps.Equal(now, before) {
		t.Errorf("processes were %v and are %v", before, now)
	}
	replace := "-replace=" + Address("etcd_member_config", "b")
	f.Plan(replace).MustDo(func() map[string]string {
		want := Changes("b", "delete create")
		want[machine] = "create"
		return want
	}())
	f.Lose("b") // like a deleted machine
	f.Apply(replace).MustSucceed()
	f.MustVote("a", "b", "c")
	f.Plan().MustBeEmpty()

	t.Log("recreated with an empty disk and the same addresses")
	id := fmt.Sprint(f.State(Address("etcd_member", "c"))["id"])
	writer := f.Writer("a", "b")
	starts := len(f.Events("c"))
	f.Recreate("c")
	etcdtest.Eventually(t, "the join script forbids it", func() error { return refuses(f.Machines, "c") })
	if events := f.Events("c")[starts:]; len(events) > 0 {
		t.Errorf("c: %v", events)
	}
	f.mustProposeReplacement(t, "c", id)
	f.Apply().MustSucceed()
	f.MustNotPause(writer, Pause, "a", "b", "c")
	f.MustVote("a", "b", "c")
	f.Plan().MustBeEmpty()
}

// refuses reports whether the join script of a machine finds that its data is gone.
func refuses(machines, name string) error {
	text, err := os.ReadFile(filepath.Join(machines, name, "etcd.log"))
	if err == nil && !strings.Contains(string(text), "has run before and its data is gone") {
		err = fmt.Errorf("the log of %s: %s", name, text)
	}
	return err
}

// The only voter cannot be replaced, nor one of two. After adding two nodes, it can.
func TestAccOnlyVoterIsReplacedAmongThree(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{Founders: []string{"a"}})
	f.Rollout("one")
	f.Form()
	f.Want("two")
	f.Plan().MustEndanger("It replaces "+f.Named("a")+", the only voter:", "Nothing has been changed.", "Add members until there are three voters")
	for _, name := range []string{"b", "c"} {
		f.Add(name)
		grown := Changes(name, "create")
		grown["etcd_rollout.this"] = "update"
		f.Plan().MustDo(grown)
		f.Apply().MustSucceed()
		if name == "b" {
			f.Plan().MustEndanger("It replaces "+f.Named("a")+", and the cluster has two voters", "Add members until there are three voters")
		}
	}
	writer := f.Writer("b", "c")
	f.Plan().MustDo(Rolled("a"))
	f.Apply().MustSucceed()
	f.MustNotPause(writer, Pause, "a", "b", "c")
	f.MustVote("a", "b", "c")
	f.Plan().MustBeEmpty()
}

// A machine that does not boot stops the rollout, and the others are not changed.
// It can be corrected by another image, or repaired; then the rollout continues.
func TestAccRolloutOfAnImageThatDoesNotBoot(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{})
	f.Rollout("one")
	f.Form()
	mended := f.Nodes["a"].Etcd
	_ = f.Break("a")
	f.Nodes["a"].Create = "8s"
	before := f.PIDs("b", "c")
	writer := f.Writer("b", "c")
	f.Want("two")
	f.Plan().MustDo(Rolled("a"))
	f.Apply().MustSay("Member a did not join in time")

	t.Log("the others wait, and a goes on trying")
	p := f.Plan()
	p.MustDo(map[string]string{Address("etcd_member", "a"): "create"})
	p.Says("Rollout: no member is replaced by this plan")

	t.Log("corrected by another image")
	f.Nodes["a"].Etcd, f.Nodes["a"].Create = mended, "90s"
	f.Want("three")
	want := Rolled("a")
	want[Address("etcd_member", "a")] = "create"
	f.Plan().MustDo(want)
	f.Apply().MustSucceed()
	f.MustNotPause(writer, Pause, "a", "b", "c")
	f.MustVote("a", "b", "c")
	if now := f.PIDs("b", "c"); !maps.Equal(now, before) {
		t.Errorf("processes were %v and are %v", before, now)
	}
	f.Plan().MustDo(Rolled("b"))
}

// Members are upgraded to the next minor version of etcd one by one. (With
// ETCD_TEST_FULL=1 from 3.5, otherwise from 3.6.)
func TestAccRolloutOfVersions(t *testing.T) {
	t.Parallel()
	versions := []etcdtest.Version{etcdtest.V36, etcdtest.V37}
	if etcdtest.Full() {
		versions = etcdtest.Maintained()
	}
	// 3.5 does not support discovery by the v3 API.
	f := NewFleet(t, FleetOptions{Version: versions[0], Static: true})
	f.Rollout(string(versions[0]))
	f.Form()

	if versions[0] == etcdtest.V35 {
		f.Want(string(etcdtest.V37))
		f.Plan().MustSay("Rollout: a cannot go from 3.5 to 3.7").MustContain(t, "Rollout: a cannot go from 3.5 to 3.7",
			f.Named("a", "b", "c")+" run etcd 3.5.", "Nothing has been changed.", "Roll out 3.6 to every member first")
	}

	for _, v := range versions[1:] {
		f.roll(t, string(v), func(name string) {
			f.Options.Version = v
			f.mustMatchState(t, name)
		})
	}

	f.Want(string(etcdtest.V36))
	f.Plan().MustSay("Rollout: a cannot go from 3.7 to 3.6").MustContain(t, "Rollout: a cannot go from 3.7 to 3.6", "Nothing has been changed.", "etcdctl downgrade enable 3.6, then restart")
	ctx := etcdtest.WaitContext(t)
	// Every few seconds the leader checks whether all members run the newer version, and
	// then makes it the cluster version. Before that, there is nothing to downgrade.
	etcdtest.Eventually(t, "the cluster can be downgraded", func() error {
		_, err := f.Client().Downgrade(ctx, clientv3.DowngradeEnable, "3.6")
		return err
	})
	summary := "Rollout: a cannot be replaced now"
	f.Plan().MustSay(summary).MustContain(t, summary, "The cluster is being downgraded to 3.6, as ", "no new one starts in it. Nothing has been changed.", "etcdctl downgrade cancel")
	f.MustVote("a", "b", "c")
}
