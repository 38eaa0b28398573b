// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// Three people remove one member each, from three directories, at the same
// time. The rules allow two removals, one after the other, and the last voter
// is forgotten. The remaining cluster of one has a leader.
func TestAccThreeDestroysAtOnce(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{Static: true})
	for _, node := range f.Nodes {
		node.Delete = "10m"
	}
	f.Form()
	fleets := map[string]*Fleet{"a": f, "b": f.Sibling(), "c": f.Sibling()}
	runs := map[string]*Running{}
	for name, g := range fleets {
		runs[name] = g.Start("destroy", "-target="+Address("etcd_member", name))
	}
	var last []string
	for name, run := range runs {
		out := run.Wait().MustSucceed()
		for _, w := range out.Warnings() {
			switch w.Summary {
			case "Member " + name + " was the last voter":
				last = append(last, name)
			case "Resource targeting is in effect", "Applied changes may be incomplete",
				"Waited for another run before changing member " + name, "Removing member " + name + " leaves no tolerance":
			default:
				t.Errorf("%s: unexpected %s", name, w)
			}
		}
		if fleets[name].State(Address("etcd_member", name)) != nil {
			t.Errorf("%s is still in the state", name)
		}
	}
	if len(last) != 1 {
		t.Fatalf("the last voter was %v", last)
	}
	f.MustVote(last...)
	if leader := f.Leader(last...); leader != last[0] {
		t.Errorf("%s leads", leader)
	}
	f.Founders = last // the members that can be asked
	if lock := f.lock(); lock != nil {
		t.Errorf("the lock is held: %s", lock.Value)
	}
}

// Two people add one member each, from two directories, at the same time. Both
// members join, one after the other, and the run that waited names the lock holder.
func TestAccTwoAppliesAtOnce(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{Static: true})
	f.Form()
	g := f.Sibling()
	f.Add("d")
	open := f.Gate("d")
	g.Add("e")
	first := f.Start("apply")
	var holder claim.Holder
	etcdtest.Eventually(t, "the first run has the lock and d is announced", func() error {
		lock := f.lock()
		if lock == nil {
			return errors.New("nobody holds the lock")
		}
		holder = claim.HolderOf(claim.Entry{Value: string(lock.Value)})
		if members := Summary(f.Members("a")); !slices.Contains(members, "? (learner)") {
			return fmt.Errorf("the members are %v", members)
		}
		return nil
	})
	second := g.Start("apply")
	etcdtest.Eventually(t, "the machine of e waits", func() error {
		_, err := os.Stat(filepath.Join(g.Machines, "e", "supervisor.pid"))
		return err
	})
	time.Sleep(13 * time.Second) // long enough for a warning about the wait
	if first.Ended() || second.Ended() {
		t.Error("a run has ended")
	}
	f.MustList("a", "b", "c", "? (learner)")
	open()
	first.Wait().MustSucceed().MustBeQuiet()
	out := second.Wait().MustSucceed()
	warnings := out.Warnings()
	if len(warnings) != 1 || warnings[0].Address != Address("etcd_member", "e") {
		t.Fatalf("the warnings are %v", warnings)
	}
	if holder.Who == "" || holder.Doing != "add member d" {
		t.Errorf("the holder was %+v", holder)
	}
	warnings[0].MustContain(t, "Waited for another run before changing member e",
		"the lock on membership changes was held by "+holder.String()+".", "Members change one at a time.")

	maps.Copy(f.Nodes, map[string]*Node{"e": g.Nodes["e"]})
	f.MustVote("a", "b", "c", "d", "e")
	if lock := f.lock(); lock != nil {
		t.Errorf("the lock is held: %s", lock.Value)
	}
	var names []string
	for _, r := range f.Records() {
		if !slices.Contains(f.Founders, r.Name) {
			names = append(names, r.Name)
		}
	}
	slices.Sort(names)
	if !slices.Equal(names, []string{"d", "e"}) {
		t.Errorf("on record are %v", names)
	}
	f.Drop("e")
	f.Plan().MustBeEmpty()
	g.Plan().MustBeEmpty()
}
