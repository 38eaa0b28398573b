// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"path/filepath"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// TestExamplesLocalCluster applies the example unchanged except for its ports, on the
// newest etcd: one apply creates it, the next plan is empty, and it is destroyed.
func TestExamplesLocalCluster(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	w, err := newWorkspace(root, options{
		cli: cli(t), provider: program(t, "terraform-provider-etcd"), example: "../../examples/local-cluster",
	})
	if err != nil {
		t.Fatal(err)
	}
	port := func() ports { return ports{Client: etcdtest.ReservePort(t), Peer: etcdtest.ReservePort(t)} }
	vars := variables{
		Nodes:    map[string]ports{"a": port(), "b": port(), "c": port()},
		Learners: map[string]ports{},
		Registry: port(), Directory: filepath.Join(root, "machines"), Etcd: etcdtest.Binary(t, etcdtest.V37),
	}
	if err := w.variables(vars); err != nil {
		t.Fatal(err)
	}
	m := machines{script: filepath.Join(w.config, "machine.sh"), dir: vars.Directory}
	for _, p := range vars.Nodes {
		m.ports = append(m.ports, p.Client, p.Peer)
	}
	t.Cleanup(func() {
		if t.Failed() {
			for _, log := range m.logs() {
				t.Logf("%s\n%s", log.title, log.text)
			}
		}
		if err := m.down(); err != nil {
			t.Error(err)
		}
	})
	must := func(args ...string) {
		t.Helper()
		if _, _, err := w.run(t.Context(), "0", args...); err != nil {
			t.Fatal(explain(err))
		}
	}
	must("init", "-plugin-dir="+w.mirror)
	must("validate")
	must("apply", "-auto-approve")

	ctl := etcdctl{etcdtest.EtcdctlBinary(t, etcdtest.V37)}
	members, err := ctl.members(t.Context(), vars.endpoints())
	if err != nil {
		t.Fatal(explain(err))
	}
	if err := expect(members, map[string]string{"a": "voter", "b": "voter", "c": "voter"}); err != nil {
		t.Error(err)
	}
	must("plan", "-detailed-exitcode")
	pids := m.pids()
	if len(pids) < 8 {
		t.Errorf("four machines have %d processes, want an etcd and a supervisor each", len(pids))
	}
	for _, pid := range pids[len(pids)-4:] {
		if !alive(pid) {
			t.Errorf("supervisor %d does not run", pid)
		}
	}
	must("destroy", "-auto-approve")
	if err := m.nothingLeft(pids); err != nil {
		t.Error(err)
	}
}

// explain returns the text of an error with its logs.
func explain(err error) string {
	r := newReport(&sharedBuffer{})
	r.failed(err)
	return r.out.(*sharedBuffer).String()
}
