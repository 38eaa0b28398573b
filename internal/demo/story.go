// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// ports are the ports of one machine.
type ports struct {
	Client  int  `json:"client_port"`
	Peer    int  `json:"peer_port"`
	Promote bool `json:"promote,omitempty"`
}

// variables are the variables of the configuration.
type variables struct {
	Nodes     map[string]ports `json:"nodes"`
	Learners  map[string]ports `json:"learners"`
	Registry  ports            `json:"registry"`
	Directory string           `json:"directory"`
	Etcd      string           `json:"etcd"`
	Image     string           `json:"image"`
}

// story is the state of the demo.
type story struct {
	r        *report
	w        *workspace
	etcdctl  etcdctl
	machines machines
	vars     variables
	spare    ports             // for the later machine
	ids      map[string]string // of the members, by name, as etcd assigned them
	members  []member          // as last observed
}

// tell runs all steps. The cleanups of tb end all processes, also after an
// error.
func tell(ctx context.Context, tb etcdtest.TB, o options, r *report) error {
	s, err := prepare(ctx, tb, o, r)
	if err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{s.form, s.again, s.roll, s.learn, s.promote, s.leave, s.destroy} {
		if err := step(ctx); err != nil {
			return s.withLogs(err)
		}
	}
	return nil
}

// withLogs adds the machines' logs to a failure, while they exist.
func (s *story) withLogs(err error) error {
	var f *failure
	if !errors.As(err, &f) {
		f = &failure{reason: err.Error()}
	}
	f.logs = append(f.logs, s.machines.logs()...)
	return f
}

// prepare creates the workspace and chooses the ports.
func prepare(ctx context.Context, tb etcdtest.TB, o options, r *report) (*story, error) {
	root := tb.TempDir()
	port := func() ports { return ports{Client: etcdtest.ReservePort(tb), Peer: etcdtest.ReservePort(tb)} }
	s := &story{
		r: r, etcdctl: etcdctl{o.etcdctl}, ids: map[string]string{}, spare: port(),
		vars: variables{
			Nodes:     map[string]ports{"a": port(), "b": port(), "c": port()},
			Learners:  map[string]ports{},
			Registry:  port(),
			Directory: root + "/machines",
			Etcd:      o.etcd,
			Image:     "one",
		},
	}
	var err error
	if s.w, err = newWorkspace(root, o); err != nil {
		return nil, err
	}
	s.machines = machines{script: s.w.config + "/machine.sh", dir: s.vars.Directory}
	for _, p := range append(slices.Collect(maps.Values(s.vars.Nodes)), s.vars.Registry, s.spare) {
		s.machines.ports = append(s.machines.ports, p.Client, p.Peer)
	}
	tb.Cleanup(func() {
		if err := s.machines.down(); err != nil {
			tb.Fatalf("%w", err)
		}
	})
	_, cli, err := s.w.run(ctx, "0", "version")
	if err != nil {
		return nil, err
	}
	_, etcd, _, err := command{args: []string{o.etcd, "--version"}}.run(ctx)
	if err != nil {
		return nil, err
	}
	r.title("A cluster's life on this computer: %s, %s, everything in %s", firstLine(cli), firstLine(etcd), root)
	_, _, err = s.w.run(ctx, "0", "init", "-plugin-dir="+s.w.mirror)
	return s, err
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return strings.Replace(line, "etcd Version:", "etcd", 1)
}

// endpoints returns those of the nodes, which always exist.
func (v variables) endpoints() []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(v.Nodes)) {
		all = append(all, fmt.Sprintf("http://127.0.0.1:%d", v.Nodes[name].Client))
	}
	return all
}

// counts are the numbers of resources in a plan and an apply.
type counts struct{ add, change, destroy int }

// apply plans, applies, and compares both summaries with want.
func (s *story) apply(ctx context.Context, want counts, args ...string) error {
	if err := s.w.variables(s.vars); err != nil {
		return err
	}
	planned, err := s.plan(ctx, args...)
	if err != nil {
		return err
	}
	if wanted := fmt.Sprintf("%d to add, %d to change, %d to destroy", want.add, want.change, want.destroy); planned != wanted {
		return failed("The plan should have been %q.", wanted)
	}
	var said string
	var warnings []string
	took := s.r.during("apply", func() { said, warnings, err = s.w.apply(ctx) })
	if err != nil {
		return err
	}
	s.r.ran("apply", said, took)
	for _, warning := range warnings {
		s.r.say("        %s", warning)
	}
	if wanted := fmt.Sprintf("%d added, %d changed, %d destroyed", want.add, want.change, want.destroy); said != wanted {
		return failed("The apply should have ended with %q.", wanted)
	}
	return nil
}

func (s *story) plan(ctx context.Context, args ...string) (summary string, err error) {
	took := s.r.during("plan", func() { summary, err = s.w.plan(ctx, args...) })
	if err == nil {
		s.r.ran("plan", summary, took)
	}
	return summary, err
}

// look reads and shows the members. It checks that they have these roles and
// still the same IDs.
func (s *story) look(ctx context.Context, roles map[string]string) error {
	members, err := s.etcdctl.members(ctx, s.vars.endpoints())
	if err != nil {
		return err
	}
	s.members = members
	show(s.r, members)
	if err := expect(members, roles); err != nil {
		return err
	}
	said, err := s.w.members(ctx)
	if err != nil {
		return err
	}
	for _, m := range members {
		if before := s.ids[m.Name]; before != "" && before != m.hexID() {
			return failed("%s had the ID %s before.", m.Name, before)
		}
		s.ids[m.Name] = m.hexID()
		if o := said[m.Name]; o.ID != m.hexID() || o.Role != m.role() {
			return failed("The state has %s as %s %q.", m.Name, o.Role, o.ID)
		}
	}
	if len(said) != len(members) {
		return failed("The state has %d members.", len(said))
	}
	return nil
}

// key is written in the first step and read in a later one.
const key, value = "greeting", "written by the first members"

func (s *story) form(ctx context.Context) error {
	s.r.begin("Three machines from nothing: they find each other through a discovery token")
	if err := s.apply(ctx, counts{add: 9}); err != nil {
		return err
	}
	if err := s.look(ctx, map[string]string{"a": "voter", "b": "voter", "c": "voter"}); err != nil {
		return err
	}
	return s.etcdctl.put(ctx, s.vars.endpoints(), key, value)
}

func (s *story) again(ctx context.Context) error {
	s.r.begin("The same configuration again: nothing to do")
	return s.settled(ctx)
}

func (s *story) settled(ctx context.Context) error {
	said, err := s.plan(ctx)
	if err != nil {
		return err
	}
	if said != noChanges {
		return failed("There should have been no changes.")
	}
	return nil
}

func (s *story) roll(ctx context.Context) error {
	s.r.begin("Another image: each apply replaces one member and its machine")
	s.vars.Image, s.ids = "two", map[string]string{}
	for range s.vars.Nodes {
		if err := s.apply(ctx, counts{add: 2, change: 1, destroy: 2}); err != nil {
			return err
		}
	}
	if err := s.look(ctx, map[string]string{"a": "voter", "b": "voter", "c": "voter"}); err != nil {
		return err
	}
	return s.settled(ctx)
}

func (s *story) learn(ctx context.Context) error {
	s.r.begin("A fourth machine, d, joins as a learner: it has all the data and no vote")
	s.vars.Learners["d"] = s.spare
	if err := s.apply(ctx, counts{add: 2, change: 1}); err != nil {
		return err
	}
	return s.look(ctx, map[string]string{"a": "voter", "b": "voter", "c": "voter", "d": "learner"})
}

func (s *story) promote(ctx context.Context) error {
	s.r.begin("d is promoted: the same member, now with a vote")
	d := s.vars.Learners["d"]
	d.Promote = true
	s.vars.Learners["d"] = d
	if err := s.apply(ctx, counts{change: 1}); err != nil {
		return err
	}
	if err := s.look(ctx, map[string]string{"a": "voter", "b": "voter", "c": "voter", "d": "voter"}); err != nil {
		return err
	}
	got, err := s.etcdctl.get(ctx, []string{fmt.Sprintf("http://127.0.0.1:%d", d.Client)}, key)
	if err != nil {
		return err
	}
	if got != value {
		return failed("d has %q where %q was written.", got, value)
	}
	s.r.verified("d has the data that was written before it joined.")
	return nil
}

func (s *story) leave(ctx context.Context) error {
	// Removing the leader carries the most risk.
	name := leaderOf(s.members)
	_, leads := s.vars.Nodes[name]
	if leads {
		s.r.begin(name + ", the leader, is removed: leadership moves, the member is removed, its machine is destroyed")
	} else {
		name = "c"
		s.r.begin("c is removed: first the member, then its machine")
	}
	begun := time.Now()
	delete(s.vars.Nodes, name)
	roles := map[string]string{"d": "voter"}
	for other := range s.vars.Nodes {
		roles[other] = "voter"
	}
	if err := s.apply(ctx, counts{change: 1, destroy: 2}); err != nil {
		return err
	}
	if err := s.look(ctx, roles); err != nil {
		return err
	}
	left, err := s.machines.left(name, s.ids[name])
	if err != nil {
		return err
	}
	if leads {
		successor, at, err := s.machines.led(begun)
		if err != nil {
			return err
		}
		if at.After(left) {
			return failed("%s left at %s, and %s began to lead only at %s.", name, clock(left), successor, clock(at))
		}
		s.r.verified("%s  %s leads", clock(at), successor)
	}
	ended, err := s.machines.ended(name, left)
	if err != nil {
		return err
	}
	s.r.verified("%s  the cluster has removed %s", clock(left), name)
	s.r.verified("%s  the process of %s has ended", clock(ended), name)
	return nil
}

func (s *story) destroy(ctx context.Context) error {
	s.r.begin("Everything is destroyed, down to the last member")
	pids := s.machines.pids()
	if err := s.apply(ctx, counts{destroy: 9}, "-destroy"); err != nil {
		return err
	}
	if err := s.machines.nothingLeft(pids); err != nil {
		return err
	}
	s.r.verified("All %d processes have ended, no port is served, and the machines' directory is deleted.", len(pids))
	return nil
}
