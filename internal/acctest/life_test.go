// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

func TestMain(m *testing.M) { Main(m) }

const cluster = "etcd_cluster.this"

func machine(name string) string { return Address("terraform_data.machine", name) }
func member(name string) string  { return Address("etcd_member", name) }

// The life of a cluster: it forms, grows, gets another version and another image, loses
// machines, shrinks and is destroyed. After each step the plan is empty.
func TestAccLife(t *testing.T) {
	OnEach(t, func(t *testing.T, cli string) {
		f := NewFleet(t, FleetOptions{CLI: cli, Version: etcdtest.V35})
		releases := f.Releases(etcdtest.V35, etcdtest.V36)
		f.Release = releases[0]
		f.Form().MustBeQuiet()
		f.Settled()

		f.Add("d", "e")
		before := f.MemberIDs()
		f.Form().MustBeQuiet()
		f.MustHaveReplaced(before, "d", "e")
		f.Settled()

		f.Drop("d", "e")
		f.Form()
		f.mustBeDown("d", "e")
		f.Settled()

		f.Release = releases[1]
		f.roll()
		f.mustRun(releases[1])
		f.Settled()
		f.Image = "two"
		f.roll()
		f.Settled()

		f.vanish("b")
		before = f.MemberIDs()
		f.Form()
		f.MustHaveReplaced(before, "b")
		f.Settled()

		f.Destroy().MustSucceed()
		f.MustBeGone()
	})
}

// pending are the nodes that wait for their turn.
func (f *Fleet) pending() (names []string) {
	list, _ := f.State(cluster)["pending"].([]any)
	for _, name := range list {
		names = append(names, fmt.Sprint(name))
	}
	return names
}

// roll applies until no node is pending, and fails the test unless each apply replaces
// one member.
func (f *Fleet) roll() {
	f.TB.Helper()
	for left := len(f.Nodes); left > 0; left-- {
		before := f.MemberIDs()
		f.Form()
		var replaced []string
		for name, id := range f.MemberIDs() {
			if before[name] != id {
				replaced = append(replaced, name)
			}
		}
		if len(replaced) != 1 || len(f.pending()) != left-1 {
			f.TB.Fatalf("the apply replaced %v and left %v pending, want one replaced and %d pending", replaced, f.pending(), left-1)
		}
	}
}

// vanish deletes a machine outside Terraform, which a refresh of a cloud's machine
// resource would find.
func (f *Fleet) vanish(name string) {
	f.TB.Helper()
	f.Lose(name)
	f.Run("state", "rm", machine(name)).MustSucceed()
}

// mustRun fails the test unless each member answers with that version.
func (f *Fleet) mustRun(release string) {
	f.TB.Helper()
	for _, name := range f.names() {
		status, err := f.Client(name).Status(etcdtest.WaitContext(f.TB), f.Nodes[name].Client)
		if err != nil || status.Version != release {
			f.TB.Errorf("%s answers with version %v (%v), want %s", name, status, err, release)
		}
	}
}

// mustBeDown fails the test if a machine of these is left.
func (f *Fleet) mustBeDown(names ...string) {
	f.TB.Helper()
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(f.Machines, name)); err == nil {
			f.TB.Errorf("the machine of %s is left", name)
		}
	}
}
