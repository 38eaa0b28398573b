// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package onecluster

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

//go:embed testdata/cluster.tf
var configuration string

const cluster = "etcd_cluster.this"

// site is an etcd_cluster with machines on this computer and their members. Its fields
// are the arguments of the next run.
type site struct {
	*acctest.Fleet
	Version etcdtest.Version
	Image   string
	// After is replace_unreachable_after.
	After string

	// releases are the versions with three numbers.
	releases map[etcdtest.Version]string
}

// newSite writes the configuration of members with these names.
func newSite(t *testing.T, cli, names string) *site {
	t.Helper()
	s := &site{Version: etcdtest.V36, Image: "one", releases: map[etcdtest.Version]string{}}
	s.Fleet = acctest.NewFleet(t, acctest.FleetOptions{Founders: strings.Fields(names), Static: true, CLI: cli, Provider: program, Version: s.Version})
	s.TakeAuth() // the provider block has no arguments
	binaries := map[string]string{"broken": filepath.Join(s.Machines, "broken.etcd")}
	for _, v := range []etcdtest.Version{etcdtest.V35, etcdtest.V36} {
		path := etcdtest.Binary(t, v)
		s.releases[v] = release(t, path)
		binaries[s.releases[v]] = path
	}
	if err := os.WriteFile(binaries["broken"], []byte("#!/bin/sh\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(binaries)
	if err != nil {
		t.Fatal(err)
	}
	s.Write("binaries.auto.tfvars.json", fmt.Sprintf(`{"binaries": %s}`, text))
	s.Write("main.tf", configuration)
	for _, name := range []string{"bootstrap.tf", "provider.tf"} {
		if err := os.Remove(filepath.Join(s.Dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	s.Layout = s.arguments
	return s
}

// release returns the version that a binary of etcd prints.
func release(t *testing.T, path string) string {
	t.Helper()
	out, err := exec.Command(path, "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimPrefix(first, "etcd Version: ")
}

// arguments writes the arguments of etcd_cluster that a test changes.
func (s *site) arguments() {
	s.TB.Helper()
	etcd := map[string]any{"version": s.releases[s.Version], "image": s.Image}
	if s.After != "" {
		etcd["after"] = s.After
	}
	text, err := json.Marshal(map[string]any{"etcd": etcd})
	if err != nil {
		s.TB.Fatal(err)
	}
	s.Write("etcd.auto.tfvars.json", string(text))
}

// names are those of the nodes in the configuration.
func (s *site) names() []string { return slices.Sorted(maps.Keys(s.Nodes)) }

// apply applies the configuration. All its nodes are voters then.
func (s *site) apply(args ...string) *acctest.Outcome {
	s.TB.Helper()
	o := s.Apply(args...).MustSucceed()
	s.MustVote(s.names()...)
	return o
}

// settled fails the test unless another plan changes nothing.
func (s *site) settled() {
	s.TB.Helper()
	p := s.Plan()
	p.MustBeEmpty()
	p.MustBeQuiet()
}

// pending are the nodes that wait for their turn.
func (s *site) pending() (names []string) {
	list, _ := s.State(cluster)["pending"].([]any)
	for _, name := range list {
		names = append(names, fmt.Sprint(name))
	}
	return names
}

// roll applies until no node is pending, and fails the test unless each apply replaces
// one member.
func (s *site) roll() {
	s.TB.Helper()
	for left := len(s.Nodes); left > 0; left-- {
		before := s.MemberIDs()
		s.apply()
		var replaced []string
		for name, id := range s.MemberIDs() {
			if before[name] != id {
				replaced = append(replaced, name)
			}
		}
		if len(replaced) != 1 || len(s.pending()) != left-1 {
			s.TB.Fatalf("the apply replaced %v and left %v pending, want one replaced and %d pending", replaced, s.pending(), left-1)
		}
	}
}

func machine(name string) string { return acctest.Address("terraform_data.machine", name) }
func member(name string) string  { return acctest.Address("etcd_member", name) }

// vanish deletes a machine outside Terraform, which a refresh of a cloud's machine
// resource would find.
func (s *site) vanish(name string) {
	s.TB.Helper()
	dir := filepath.Join(s.Machines, name)
	s.Crash(name)
	if err := os.RemoveAll(dir); err != nil {
		s.TB.Fatal(err)
	}
	s.Run("state", "rm", machine(name)).MustSucceed()
}
