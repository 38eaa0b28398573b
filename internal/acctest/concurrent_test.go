// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// Two people add one member each, from two directories, at the same time. Both
// members join, one after the other, and the run that waited names the lock holder.
func TestAccTwoAppliesAtOnce(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{})
	f.Form()
	g := f.Sibling()
	f.Add("d")
	open := f.Gate("d")
	g.Add("e")
	first := f.Start("apply")
	f.WaitList("a", "a", "b", "c", "? (learner)")
	holder := claim.HolderOf(claim.Entry{Value: string(f.lock().Value)})
	second := g.Start("apply")
	const waits = "Waited for another run before changing member e"
	etcdtest.Eventually(t, "the machine of e runs its join script", func() error {
		if g.PID("e", "supervisor.pid") == 0 {
			return errors.New("it has no supervisor")
		}
		return nil
	})
	if first.Ended() || second.Ended() {
		t.Error("a run has ended")
	}
	f.MustList("a", "b", "c", "? (learner)")
	open()
	first.Wait().MustSucceed().MustBeQuiet()
	for _, w := range second.Wait().MustSucceed().Warnings() {
		if strings.Contains(w.Summary, waits) { // if it waited for long
			w.MustContain(t, waits, holder.String())
		} else if !strings.Contains(w.Detail, "If another run is adding it, let that run end.") {
			t.Error(w)
		}
	}
	if holder.Who == "" || holder.Doing != "add member d" {
		t.Errorf("the holder was %+v", holder)
	}
	maps.Copy(f.Nodes, map[string]*Node{"e": g.Nodes["e"]})
	f.MustVote("a", "b", "c", "d", "e")
	if lock := f.lock(); lock != nil {
		t.Errorf("the lock is held: %s", lock.Value)
	}
	f.Drop("e")
	for _, p := range []*Plan{f.Plan(), g.Plan()} { // each state lacks the other's node
		if p.ExitCode == 1 || slices.Contains(slices.Collect(maps.Keys(p.Actions())), member("a")) {
			t.Errorf("the plan: %v\n%s", p.Actions(), p.Report())
		}
	}
}

// Sibling returns the same fleet in another directory with a copy of the
// current state: that of another person with the same configuration.
func (f *Fleet) Sibling() *Fleet {
	f.TB.Helper()
	g := *f
	g.Workspace = NewWorkspace(f.TB, WorkspaceOptions{CLI: f.cli})
	g.Nodes = map[string]*Node{}
	for name, node := range f.Nodes {
		own := *node
		g.Nodes[name] = &own
	}
	files, err := filepath.Glob(filepath.Join(f.Dir, "*.tf"))
	if err != nil {
		f.TB.Fatal(err)
	}
	for _, path := range append(files, filepath.Join(f.Dir, "terraform.tfstate")) {
		g.Write(filepath.Base(path), f.Read(filepath.Base(path)))
	}
	return &g
}
