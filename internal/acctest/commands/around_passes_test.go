// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// The plan rules must allow these changes.
func TestAccAroundPasses(t *testing.T) {
	t.Parallel()
	tryAll(t, variants(flat), []attempt{
		{name: "one replaced", run: func(l *lab) {
			id := l.MemberID("b")
			l.Apply("-replace=" + l.addr("etcd_member_config", "b")).MustSucceed()
			if now := l.MemberID("b"); now == id {
				l.t.Errorf("b is still %x", id)
			}
		}},
		{name: "one changed", run: func(l *lab) {
			l.trigger("a")
			l.Apply().MustSucceed()
		}},
		{name: "one node targeted", not: []layout{flat, counted, dynamic}, run: func(l *lab) {
			undo := l.trigger(l.members...)
			before := l.PIDs(l.members[1:]...)
			l.Apply("-target=module.a").MustSucceed()
			if now := l.PIDs(l.members[1:]...); fmt.Sprint(now) != fmt.Sprint(before) {
				l.t.Errorf("the processes were %v, and are %v", before, now)
			}
			a := l.Nodes["a"].Config
			undo()
			l.Nodes["a"].Config = a
		}},
		{name: "a dead one replaced", run: func(l *lab) {
			l.Lose("b")
			l.Apply("-replace=" + l.addr("etcd_member_config", "b")).MustSucceed()
		}},
		{name: "two more", run: func(l *lab) {
			l.Add("x", "y")
			l.Apply().MustSucceed()
			l.members = append(slices.Clone(l.members), "x", "y")
			l.mustVote(l.members...)
			l.Plan().MustBeEmpty()
			l.Drop("x", "y")
			l.members = l.members[:l.size]
			l.Apply().MustSucceed()
		}},
		{name: "killed while a machine boots", run: func(l *lab) {
			was := l.Nodes["b"].Etcd
			open := l.Gate("b")
			defer func() { l.Nodes["b"].Etcd = was }()
			l.trigger("b")
			run := l.Start("apply")
			l.awaitCreating(run, "b")
			l.kill(run)
			l.ExpireLock()
			open()
			l.converge()
		}},
		{name: "other keys", not: []layout{counted}, last: true, run: func(l *lab) {
			moved := ""
			for _, name := range l.members {
				l.rekey(name, "x"+name)
				moved += l.moved(name, "x"+name)
			}
			l.Write("moved.tf", moved)
			before := l.see()
			l.Apply().MustSucceed()
			l.mustSee(before)
		}},
		{name: "new nodes first, then the old ones out", not: []layout{counted, dynamic}, last: true, run: func(l *lab) {
			old := l.members
			l.Add("x", "y", "z")
			l.members = append(slices.Clone(old), "x", "y", "z")
			l.Apply().MustSucceed()
			l.mustVote(l.members...)
			l.Drop(old...)
			l.members = []string{"x", "y", "z"}
			l.Apply().MustSucceed()
		}},
	})
}

// awaitCreating returns when a run has begun to create these members: it then
// waits for them, and does not write a state that a kill could truncate.
func (l *lab) awaitCreating(run *acctest.Running, names ...string) {
	l.t.Helper()
	for _, name := range names {
		text, err := json.Marshal(l.addr("etcd_member", name) + ": Creating")
		if err != nil {
			l.t.Fatal(err)
		}
		etcdtest.Eventually(l.t, name+" is created", func() error {
			if !run.Printed(strings.Trim(string(text), `"`)) {
				return errors.New("not yet")
			}
			return nil
		})
	}
}

// kill kills a run of the CLI and its providers, but not while the CLI writes
// its state: Terraform truncates the file first.
func (l *lab) kill(run *acctest.Running) {
	l.t.Helper()
	providers := run.Providers()
	etcdtest.Eventually(l.t, "the state is whole", func() error {
		_ = run.Cmd.Process.Signal(syscall.SIGSTOP) // it may have ended already
		if json.Valid([]byte(l.Read("terraform.tfstate"))) {
			return nil
		}
		return errors.Join(errors.New("it is being written"), run.Cmd.Process.Signal(syscall.SIGCONT))
	})
	run.Kill()
	for _, pid := range providers {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	acctest.AwaitEnd(providers...)
}

// converge applies once.
func (l *lab) converge() {
	l.t.Helper()
	if o := l.Apply("-lock-timeout=10s"); o.ExitCode != 0 {
		l.t.Fatalf("the next apply fails:\n%s", o.Report())
	}
}

// The first apply is killed while the machines boot. The next one forms the
// cluster.
func TestAccAroundFirstApplyKilled(t *testing.T) {
	t.Parallel()
	if acctest.KeepsStateBack(t) {
		t.Skip("this CLI writes the state at the end of a run, so a killed first apply leaves none")
	}
	for _, v := range variants(flat) {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			names := []string{"a", "b", "c", "d", "e"}[:v.size]
			l := &lab{in: v.layout, size: v.size, t: t, members: names, urls: map[string]string{}}
			l.Fleet = acctest.NewFleet(t, acctest.FleetOptions{Founders: names, Version: v.version, Static: v.layout != dynamic})
			useLayout(l.Fleet, v.layout)
			var gates []func()
			for _, name := range names {
				gates = append(gates, l.Gate(name))
			}
			run := l.Start("apply")
			l.awaitCreating(run, names...)
			l.kill(run)
			for _, open := range gates {
				open()
			}
			l.note()
			l.converge()
			l.mustVote(names...)
			l.Plan().MustBeEmpty()
		})
	}
}
