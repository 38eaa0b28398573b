// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// soak is a fleet that is changed round by round under faults.
type soak struct {
	tb    testing.TB
	fleet *Fleet
	wires *wires
	watch *QuorumWatch

	image   int
	applies int
	repeats int
	orphans int
	changes map[string]int
	faults  map[string]int
}

// TestAccSoak changes a cluster at random, with a real CLI, while members are
// killed, frozen and cut off, runs are killed and interrupted, and writers and
// readers continue. After each round one plain apply must bring everything to
// the configured state, and the next plan must be empty. There must be no lost
// acknowledged writes, no stale reads, no lost quorum except through the test
// itself, and no members without an owner.
//
// SOAK is the duration, 3m with ETCD_TEST_FULL=1. Without either it is skipped.
// SOAK_SEED selects the rounds ("random" for a new seed), and SOAK_ETCD the version
// (3.5, 3.6, 3.7).
func TestAccSoak(t *testing.T) {
	NeedSoak(t)
	t.Parallel()
	limit, seed := SoakSettings(t)
	// Every version understands a static bootstrap.
	f := NewFleet(t, FleetOptions{Version: etcdtest.Version(os.Getenv("SOAK_ETCD")), Static: true})
	s := &soak{tb: t, fleet: f, wires: newWires(t), changes: map[string]int{}, faults: map[string]int{}}
	t.Logf("SOAK=%v SOAK_SEED=%d SOAK_ETCD=%s", limit, seed, f.Version())
	for _, name := range f.Founders {
		s.wires.wire(f, name)
	}
	f.Rollout("image-0")
	f.replaceUnreachableAfter(15 * time.Second)
	f.Form()
	s.watch = NewQuorumWatch(t, f)
	s.watch.Follow(f.Nodes)
	writer := f.Writer(f.Founders...)
	clients := newHistorian(t, s.clients(), 4, seed)
	script := newSoakScript(seed, f.Founders)
	operations := 0

	begin := time.Now()
	for time.Since(begin) < limit && !t.Failed() {
		r := script.next()
		t.Log(r)
		s.round(r)
		history := clients.chapter(r.number + 1)
		operations += len(history)
		mustBeLinearizable(t, history)
	}
	took := time.Since(begin)

	clients.cancel()
	clients.wg.Wait()
	history := clients.chapter(script.round + 4)
	operations += len(history)
	mustBeLinearizable(t, history)
	writer.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	lost, err := writer.Lost(ctx, f.Client())
	if err != nil || len(lost) > 0 {
		t.Errorf("acknowledged and lost: %d writes; %v", len(lost), err)
	}
	looks, below := s.watch.Result()
	for _, moment := range below {
		t.Errorf("below quorum: %s", moment)
	}
	s.watch.excuse(slices.Collect(maps.Keys(f.Nodes))...)
	f.Destroy().MustSucceed()
	f.MustBeGone()

	t.Logf("soak of %v, seed %d, etcd %s: %d rounds, %d applies, of which %d repeated one that a fault had ended",
		took.Round(time.Second), seed, f.Version(), script.round, s.applies, s.repeats)
	t.Logf("changes: %s", Tally(s.changes))
	t.Logf("faults: %s", Tally(s.faults))
	t.Logf("writes acknowledged %d, lost %d, longest time without one %v", len(writer.Acknowledged()), len(lost), writer.LongestGap())
	t.Logf("operations whose history was checked %d (%d writes, %d reads, %d writes of unknown outcome)", operations, clients.acknowledged, clients.read, clients.unknown)
	t.Logf("looks at the quorum %d, lost %d; orphans %d", looks, len(below), s.orphans)
}

// clients returns a function with the configuration of a client of all watched
// nodes. It does not use the wires, which are only for members and Terraform.
func (s *soak) clients() func() clientv3.Config {
	base := s.fleet.ClientConfig()
	return func() clientv3.Config {
		cfg := base
		s.watch.mu.Lock()
		defer s.watch.mu.Unlock()
		cfg.Endpoints = slices.Sorted(maps.Values(s.watch.nodes))
		return cfg
	}
}

// round runs a round and waits until the cluster is healthy again.
func (s *soak) round(r soakRound) {
	f := s.fleet
	s.changes[r.change]++
	f.Add(r.in...)
	for _, name := range r.in {
		s.wires.wire(f, name)
	}
	f.Drop(r.out...)
	var args []string
	switch r.change {
	case "replace":
		args = []string{"-replace=" + Address("etcd_member_config", r.lost)}
	case "lose":
		s.watch.excuse(r.lost)
		f.Lose(r.lost)
	case "rollout":
		s.image++
		f.Want(fmt.Sprintf("image-%d", s.image))
	}

	run := f.Start(append([]string{"apply"}, args...)...)
	s.watch.Follow(f.Nodes)
	ctx, cancel := context.WithCancel(context.Background())
	var faults sync.WaitGroup
	happened := make([]bool, len(r.faults))
	for i, fault := range r.faults {
		faults.Go(func() { happened[i] = s.inflict(ctx, fault, run) })
	}
	outcome := run.Wait()
	s.applies++
	cancel()
	faults.Wait()
	disturbed := false
	for i, fault := range r.faults {
		if happened[i] {
			s.faults[fault.kind]++
			disturbed = true
		}
	}
	if !disturbed && outcome.ExitCode != 0 {
		s.tb.Fatalf("nothing went wrong, and yet:\n%s", outcome.Report())
	}
	s.wait("every member that has a machine answers", func() error {
		for name, n := range f.Nodes {
			if f.PID(name, "etcd.pid") == 0 {
				continue // not added yet
			}
			cfg := f.ClientConfig()
			cfg.Endpoints = []string{n.dial()}
			if err := answers(s.tb, cfg); err != nil && !strings.Contains(err.Error(), "learner") {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	})
	if r.change != "lose" {
		s.watch.pardon()
	}
	s.converge(outcome.ExitCode != 0, r.lost)
	s.watch.forget(r.out...)
	s.watch.pardon()
}

// converge applies until the plan is empty: once if a run was interrupted, and
// once more for each node that a rollout has not reached. Every apply must
// succeed, because nothing disturbs it. A machine that was lost, or replaced on
// request, must run again.
func (s *soak) converge(brokenOff bool, lost string) {
	f := s.fleet
	if brokenOff {
		s.repeats++
		s.applies++
		f.Apply().MustSucceed()
	}
	for range len(f.Nodes) + 1 {
		switch p := f.Plan(); {
		case p.ExitCode != 0:
			s.applies++
			f.Apply().MustSucceed()
		case lost == "" || f.PID(lost, "etcd.pid") != 0:
			s.settled()
			return
		default:
			s.tb.Logf("%s is lost, and nothing was planned:\n%s", lost, p.Report())
		}
	}
	f.Plan().MustBeEmpty()
	if lost != "" && f.PID(lost, "etcd.pid") == 0 {
		s.tb.Fatalf("%s was lost and has not been replaced", lost)
	}
	s.settled()
}

// settled fails the test unless the members are the configured ones, all of
// them vote, and no record belongs to another member.
func (s *soak) settled() {
	f := s.fleet
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	client, err := clientv3.New(f.ClientConfig())
	if err != nil {
		s.tb.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	list, err := client.MemberList(ctx)
	if err != nil {
		s.tb.Fatal(err)
	}
	want := slices.Sorted(maps.Keys(f.Nodes))
	if got := Summary(list.Members); !slices.Equal(got, want) {
		s.orphans++
		s.tb.Fatalf("the members are %v, want %v", got, want)
	}
	records, err := client.Get(ctx, metadataKey(ctx, s.tb, client, "members/"), clientv3.WithPrefix())
	if err != nil {
		s.tb.Fatal(err)
	}
	for _, kv := range records.Kvs {
		if !slices.ContainsFunc(want, func(name string) bool { return strings.Contains(string(kv.Value), strconv.Quote(name)) }) {
			s.orphans++
			s.tb.Errorf("a record of somebody who is gone: %s = %s", kv.Key, kv.Value)
		}
	}
}

func (s *soak) wait(what string, f func() error) {
	s.tb.Helper()
	etcdtest.Eventually(s.tb, what, f)
}
