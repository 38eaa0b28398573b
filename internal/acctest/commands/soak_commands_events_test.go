// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// eventKinds returns the events that happen to machines. They happen only to
// members that the cluster can spare.
func eventKinds() []kind {
	return []kind{
		{name: "machine killed", weight: 3, run: event((*actor).killMachine)},
		{name: "machine wiped", weight: 2, run: event((*actor).wipe)},
		{name: "machine frozen", weight: 2, run: event((*actor).freeze)},
		{name: "machines back", weight: 2, run: func(a *actor, _ deed) bool { a.heal(); return true }},
		{name: "old disk", weight: 2, run: (*actor).oldDisk},
	}
}

// event calls happen for a machine that can be spared.
func event(happen func(a *actor, name string)) func(*actor, deed) bool {
	return func(a *actor, s deed) bool {
		name := a.now.memberName(a.key(s))
		if !a.spares(name) || len(a.lost()) > 0 {
			return false
		}
		happen(a, name)
		return true
	}
}

// spares reports whether a member runs and the cluster has a quorum without it.
func (a *actor) spares(name string) bool {
	if !a.runsEtcd(name) || a.PID(name, "supervisor.pid") == 0 || a.frozen[name] {
		return false
	}
	voters, others := 0, 0
	for _, m := range a.list() {
		if m.IsLearner {
			continue
		}
		voters++
		if m.Name != name && a.runsEtcd(m.Name) && !a.frozen[m.Name] {
			others++
		}
	}
	return others >= voters/2+1
}

func (a *actor) killMachine(name string) { a.Crash(name) }

func (a *actor) wipe(name string) {
	a.Crash(name)
	if err := os.RemoveAll(a.dataOf(name)); err != nil {
		a.TB.Fatal(err)
	}
	a.boot(name)
}

func (a *actor) freeze(name string) {
	a.Signal(name, syscall.SIGSTOP)
	a.frozen[name] = true
}

func (a *actor) dataOf(name string) string { return filepath.Join(a.Machines, name, "data") }

// boot boots a crashed machine again, without changing it.
func (a *actor) boot(name string) {
	a.t.Helper()
	dir := filepath.Join(a.Machines, name)
	env, err := os.ReadFile(filepath.Join(dir, "etcd.env"))
	if err != nil {
		a.TB.Fatal(err)
	}
	join, _ := os.ReadFile(filepath.Join(dir, "join.sh"))
	a.RunMachine("up", name, "ETCD_BIN="+etcdtest.Binary(a.TB, a.Version()), "MACHINE_ENV="+string(env), acctest.MachineJoin(string(join)))
}

// oldDisk replaces a node and gives the new machine the disk of the old one,
// which belongs to a removed member. (etcd itself does not survive an older
// disk of the same member.)
func (a *actor) oldDisk(s deed) bool {
	key := a.key(s)
	name := a.now.memberName(key)
	if !a.spares(name) {
		return false
	}
	was := a.idIn(name)
	kept := filepath.Join(a.Machines, name+".disk")
	a.Signal(name, syscall.SIGSTOP)
	err := os.CopyFS(kept, os.DirFS(a.dataOf(name)))
	a.Signal(name, syscall.SIGCONT)
	if err != nil {
		a.TB.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(kept) }()
	a.cli("apply", "-replace="+a.addr("etcd_member_config", key))
	if now := a.idIn(name); a.ended || now == 0 || now == was || !a.spares(name) {
		return true
	}
	a.Crash(name)
	err = os.RemoveAll(a.dataOf(name))
	if err == nil {
		err = os.Rename(kept, a.dataOf(name))
	}
	if err == nil {
		err = os.Chmod(a.dataOf(name), 0o700)
	}
	if err != nil {
		a.TB.Fatal(err)
	}
	a.boot(name)
	return true
}

// idIn returns the ID of the member with that name, or 0 if there is none.
func (a *actor) idIn(name string) uint64 {
	for _, m := range a.list() {
		if m.Name == name {
			return m.ID
		}
	}
	return 0
}

// heal ends the failures that can be ended without a replacement: machines boot
// again with their disks, and frozen processes continue.
func (a *actor) heal() {
	clear(a.frozen)
	entries, err := os.ReadDir(a.Machines)
	if err != nil {
		a.TB.Fatal(err)
	}
	running := acctest.Processes()
	for _, e := range entries {
		dir := filepath.Join(a.Machines, e.Name())
		if _, err := os.Stat(filepath.Join(dir, ".machine")); err != nil {
			continue
		}
		_ = a.SignalFile(e.Name(), "etcd.pid", syscall.SIGCONT)
		_, never := os.Stat(filepath.Join(dir, "never"))
		pid := a.PID(e.Name(), "supervisor.pid")
		if never != nil && !slices.ContainsFunc(running, func(p acctest.Process) bool { return p.PID == pid }) {
			a.boot(e.Name())
		}
	}
}
