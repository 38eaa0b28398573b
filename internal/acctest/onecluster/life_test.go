// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package onecluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// The life of a cluster: it forms, grows, gets another version and another image, loses
// machines, shrinks and is destroyed. After each step the plan is empty.
func TestAccOneClusterLife(t *testing.T) {
	t.Parallel()
	for name, cli := range commands(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := os.Stat(cli); err != nil {
				t.Skipf("no %s: make tools builds it", name)
			}
			life(t, newSite(t, cli, "a b c"))
		})
	}
}

// commands are the CLI of the run, and OpenTofu if that is another one.
func commands(t *testing.T) map[string]string {
	t.Helper()
	cli := acctest.CLI(t)
	out := map[string]string{filepath.Base(cli): cli}
	if !strings.Contains(filepath.Base(cli), "tofu") {
		root, err := acctest.ModuleRoot()
		if err != nil {
			t.Fatal(err)
		}
		out["tofu"] = filepath.Join(root, "bin", "tofu")
	}
	return out
}

func life(t *testing.T, s *site) {
	s.Version = etcdtest.V35
	s.apply().MustBeQuiet()
	s.settled()

	s.Add("d", "e")
	before := s.MemberIDs()
	s.apply().MustBeQuiet()
	s.MustHaveReplaced(before, "d", "e")
	s.settled()

	s.Drop("d", "e")
	s.apply()
	s.MustBeDown("d", "e")
	s.settled()

	s.Version = etcdtest.V36
	s.roll()
	s.mustRun(etcdtest.V36)
	s.settled()
	s.Image = "two"
	s.roll()
	s.settled()

	s.vanish("b")
	before = s.MemberIDs()
	s.apply()
	s.MustHaveReplaced(before, "b")
	s.settled()

	s.After = "1s"
	s.apply()
	s.settled()
	before = s.MemberIDs()
	s.Lose("c")
	s.apply()
	s.MustHaveReplaced(before, "c")
	s.settled()

	acctest.MustForgetLast(t, s.Destroy().MustSucceed(), s.names()...)
	s.MustBeGone()
}

// mustRun fails the test unless each member answers with that version.
func (s *site) mustRun(v etcdtest.Version) {
	s.TB.Helper()
	for _, name := range s.names() {
		status, err := s.Client(name).Status(etcdtest.WaitContext(s.TB), s.Nodes[name].Client)
		if err != nil || status.Version != s.releases[v] {
			s.TB.Errorf("%s answers with version %v (%v), want %s", name, status, err, s.releases[v])
		}
	}
}

// MustBeDown fails the test if a machine of these is left.
func (s *site) MustBeDown(names ...string) {
	s.TB.Helper()
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(s.Machines, name)); err == nil {
			s.TB.Errorf("the machine of %s is left", name)
		}
	}
}
