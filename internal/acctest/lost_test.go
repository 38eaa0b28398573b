// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"fmt"
	"net/url"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// lostAfter is longer than a slow machine needs, but short for a test.
const lostAfter = 3 * time.Second

// The next apply replaces a lost machine while writes continue: that of the
// leader, and that of the first endpoint. (With ETCD_TEST_FULL=1 also that of a
// follower.)
func TestAccLostMember(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{})
	f.replaceUnreachableAfter(lostAfter)
	f.Form()
	all := []string{"a", "b", "c"}
	for who, choose := range map[string]func(leader string) string{
		"a follower":         func(leader string) string { return other(all, leader, "a") },
		"the leader":         func(leader string) string { return leader },
		"the first endpoint": func(string) string { return "a" },
	} {
		if who == "a follower" && !etcdtest.Full() {
			continue
		}
		victim := choose(f.Leader(all...))
		t.Logf("%s is lost: %s", who, victim)
		rest := others(all, victim)
		writer := f.Writer(rest...)
		id := fmt.Sprint(f.State(Address("etcd_member", victim))["id"])
		begin := time.Now()
		f.Lose(victim)
		f.mustProposeReplacement(t, victim, id)
		f.Apply().MustSucceed()
		f.MustNotPause(writer, Pause, all...)
		t.Logf("%s: healed after %v, longest gap between writes %v", who, time.Since(begin).Round(time.Millisecond), writer.LongestGap().Duration())
		f.MustVote(all...)
		if now := fmt.Sprint(f.State(Address("etcd_member", victim))["id"]); now == id {
			t.Errorf("%s is still %s", victim, id)
		}
		f.Plan().MustBeEmpty()
	}
}

// mustProposeReplacement plans. It fails the test unless the plan replaces only
// that member, with an explanation.
func (f *Fleet) mustProposeReplacement(t *testing.T, victim, id string) {
	t.Helper()
	p := f.Plan()
	p.MustDo(Changes(victim, "delete create"))
	config := p.Changes()[Address("etcd_member_config", victim)]
	if config.Before["status"] != "failed" || !IsUnknown(config.Unknown["status"]) || fmt.Sprint(config.ReplacePaths) != "[[status]]" {
		t.Errorf("status is %v before, unknown after: %v, replaced because of %v", config.Before["status"], config.Unknown["status"], config.ReplacePaths)
	}
	w := p.Says("Member " + victim + " has failed and is replaced")
	w.MustContain(t, w.Summary, "It has not answered since ", fmt.Sprintf("%s (%s) does not answer (%s: connection refused).", victim, id, f.Nodes[victim].Client),
		"The leader, ", " has no connection to it.")
}

func others(all []string, name string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s == name })
}

// other returns the first name that is not in but.
func other(all []string, but ...string) string {
	for _, name := range all {
		if !slices.Contains(but, name) {
			return name
		}
	}
	return ""
}

// No replacement is planned for a member that comes back in time, or to which
// the leader is connected. Without a quorum there is only an explanation.
func TestAccSilentIsNotLost(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{})
	const threshold = 8 * time.Second
	f.replaceUnreachableAfter(threshold)
	f.Form()

	t.Log("frozen for less")
	f.Signal("c", syscall.SIGSTOP)
	thaw := time.AfterFunc(3*time.Second, func() { _ = f.SignalFile("c", "etcd.pid", syscall.SIGCONT) })
	f.Plan().MustBeEmpty()
	if thaw.Stop() {
		_ = f.SignalFile("c", "etcd.pid", syscall.SIGCONT)
	}
	f.MustVote("a", "b", "c")

	t.Log("rebooted within less")
	f.Crash("c")
	booted := make(chan struct{})
	time.AfterFunc(3*time.Second, func() { defer close(booted); f.Repair("c") })
	begin := time.Now()
	p := f.Plan()
	p.MustBeEmpty()
	p.MustNotSay("c")
	<-booted
	if took := time.Since(begin); took < 3*time.Second {
		t.Errorf("the plan took %v and cannot have waited", took)
	}

	t.Log("two of three")
	ids := []string{f.Named("b"), f.Named("c")}
	f.Crash("b", "c")
	p = f.Plan()
	p.MustBeEmpty()
	w := p.Says("The cluster has lost its quorum")
	w.MustContain(t, w.Summary, "1 of 3 voters answers; quorum is 2.", "Nothing was changed.", "etcd_snapshot", "the argument restore of etcd_initial_cluster")
	for _, id := range ids {
		w.MustContain(t, w.Summary, id+" does not answer")
	}
	p.MustNotSay("lost and")
	f.Repair("b", "c")
	etcdtest.Eventually(t, "the plan is empty and quiet", func() error {
		if p := f.Plan(); p.ExitCode != 0 || len(p.Diagnostics) > 0 {
			return fmt.Errorf("exit code %d: %s", p.ExitCode, p.Report())
		}
		return nil
	})
	f.MustVote("a", "b", "c")
}

// A member that is unreachable from here, but connected to the leader, has not
// failed, however long this lasts.
func TestAccUnreachableFromHereIsNotLost(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{})
	f.replaceUnreachableAfter(time.Second)
	at, err := url.Parse(f.Nodes["c"].Client)
	if err != nil {
		t.Fatal(err)
	}
	link := etcdtest.Proxy(t, at.Host)
	f.Write("provider_override.tf", fmt.Sprintf("provider \"etcd\" {\n  address_map = { %q = %q }\n}\n", f.Nodes["c"].Client, "http://"+link.Addr()))
	f.Form()
	f.Plan().MustBeEmpty()

	link.Cut()
	link.Reset()
	for range 2 {
		f.Apply("-refresh-only").MustSucceed().MustNotSay("lost")
		if s := f.State(Address("etcd_member_config", "c"))["status"]; s != "unreachable" {
			t.Errorf("status is %v", s)
		}
		time.Sleep(time.Second)
	}
	p := f.Plan()
	p.MustBeEmpty()
	p.MustNotSay("lost")
	link.Heal()
	f.MustVote("a", "b", "c")
	f.Plan().MustBeEmpty()
}

// The others restarted after the loss: their leader was never connected to the
// member, so it cannot show a lost connection.
func TestAccLostBeforeTheOthersRestarted(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{})
	f.replaceUnreachableAfter(lostAfter)
	f.Form()
	id := fmt.Sprint(f.State(Address("etcd_member", "c"))["id"])
	f.Lose("c")
	f.Crash("a", "b")
	f.Repair("a", "b")
	f.Leader("a", "b")
	f.mustProposeReplacement(t, "c", id)
	f.Apply().MustSucceed()
	f.MustVote("a", "b", "c")
	f.Plan().MustBeEmpty()
}

// Without replace_unreachable_after, a warning names the command to replace the
// member, and the command works.
func TestAccLostMemberByHand(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{})
	f.Form()
	f.Lose("b")
	etcdtest.Eventually(t, "the leader misses b as well", func() error {
		p := f.Plan()
		p.MustNotSay("replaced by this plan")
		for _, w := range p.Warnings() {
			if w.Summary == "Member b does not answer" {
				w.MustContain(t, w.Summary, "terraform apply -replace='ADDRESS'", "With replace_unreachable_after set")
				return nil
			}
		}
		return fmt.Errorf("no such warning: %s", p.Report())
	})
	replace := "-replace=" + Address("etcd_member_config", "b")
	f.Plan(replace).MustDo(Changes("b", "delete create"))
	f.Apply(replace).MustSucceed()
	f.MustVote("a", "b", "c")
	f.Plan().MustBeEmpty()
}

// If two of five members are lost, each apply replaces one: the first one in
// the plan, which can be either.
func TestAccTwoOfFiveLost(t *testing.T) {
	if !etcdtest.Full() {
		t.Skip("another size of cluster: set ETCD_TEST_FULL=1")
	}
	t.Parallel()
	all := []string{"a", "b", "c", "d", "e"}
	f := NewFleet(t, FleetOptions{Founders: slices.Clone(all)})
	f.replaceUnreachableAfter(lostAfter)
	f.Form()
	f.Lose("b", "d")
	writer := f.Writer("a", "c", "e")
	p := f.Plan()
	first, second := "b", "d"
	if _, ok := p.Actions()[Address("etcd_member", first)]; !ok {
		first, second = second, first
	}
	p.MustDo(Changes(first, "delete create"))
	p.Says("Member " + first + " has failed and is replaced")
	p.Says("Member " + second + " has failed too")
	ids := f.MemberIDs()
	f.Run("apply", "-json", "-input=false", p.File).MustSucceed() // only this one
	f.MustList(all...)
	f.MustHaveReplaced(ids, first)
	f.Plan().MustDo(Changes(second, "delete create"))
	f.Apply().MustSucceed()
	f.MustNotPause(writer, Pause, all...)
	f.MustVote(all...)
	f.Plan().MustBeEmpty()
}
