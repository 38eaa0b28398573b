// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// QuorumWatch continuously checks whether a quorum of the voters has a process,
// and records when it does not. This does not depend on timing: the processes
// are counted before and after the list is read, and a process that runs at
// either time counts. If no member answers for silenceLimit, although the test
// has not disturbed the cluster, the quorum is also lost.
type QuorumWatch struct {
	fleet *Fleet

	mu      sync.Mutex
	nodes   map[string]string // client URLs by name
	excused map[string]bool   // members that the test itself has disturbed
	since   time.Time         // the time of the last answer, or of the last disturbance
	voters  []string          // those of the last answer
	looks   int
	lost    []string
}

// silenceLimit is much longer than an election on a busy machine. patientLimit
// applies if a quorum of the last known voters has processes: a machine with
// fifty times its capacity of work is then more likely than a lost quorum.
const (
	silenceLimit = 30 * time.Second
	patientLimit = 5 * time.Minute
)

// NewQuorumWatch watches until the test ends.
func NewQuorumWatch(tb testing.TB, f *Fleet) *QuorumWatch {
	tb.Helper()
	w := &QuorumWatch{fleet: f, nodes: map[string]string{}, excused: map[string]bool{}, since: time.Now()}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			w.look(ctx)
			select {
			case <-ctx.Done():
			case <-time.After(200 * time.Millisecond):
			}
		}
	})
	tb.Cleanup(func() { cancel(); wg.Wait() })
	return w
}

// Follow adds nodes to the watch. Removed nodes remain in it until forget.
func (w *QuorumWatch) Follow(nodes map[string]*Node) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, n := range nodes {
		w.nodes[name] = n.dial()
	}
}

// forget ends the watch of removed nodes.
func (w *QuorumWatch) forget(names ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, name := range names {
		delete(w.nodes, name)
	}
}

// excuse counts members as alive until pardon, because the test itself has
// disturbed them.
func (w *QuorumWatch) excuse(names ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.since = time.Now()
	for _, name := range names {
		w.excused[name] = true
	}
}

// pardon ends all excuses.
func (w *QuorumWatch) pardon() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.since = time.Now()
	clear(w.excused)
}

// alive adds the members that have a process or an excuse.
func (w *QuorumWatch) alive(to map[string]bool) {
	running := map[int]bool{}
	for _, p := range Processes() {
		running[p.PID] = true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.Copy(to, w.excused)
	for name := range w.nodes {
		if pid := w.fleet.PID(name, "etcd.pid"); pid != 0 && running[pid] {
			to[name] = true
		}
	}
}

func (w *QuorumWatch) look(ctx context.Context) {
	w.mu.Lock()
	var endpoints []string
	for _, url := range w.nodes {
		endpoints = append(endpoints, url)
	}
	w.mu.Unlock()
	if len(endpoints) == 0 {
		return
	}
	cfg := w.fleet.configOf(endpoints)
	alive := map[string]bool{}
	w.alive(alive)
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	client, err := clientv3.New(cfg)
	if err != nil {
		return
	}
	defer func() { _ = client.Close() }()
	list, err := client.MemberList(ctx)
	if err != nil {
		w.silent(err)
		return
	}
	w.alive(alive)
	var voters []string
	for _, m := range list.Members {
		if !m.IsLearner {
			voters = append(voters, m.Name)
		}
	}
	living := livingOf(voters, alive)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looks++
	w.since, w.voters = time.Now(), voters
	if living < len(voters)/2+1 {
		w.lost = append(w.lost, fmt.Sprintf("%s: %d of %d voters alive: %v", time.Now().Format("15:04:05.000"), living, len(voters), Summary(list.Members)))
	}
}

func livingOf(voters []string, alive map[string]bool) (living int) {
	for _, name := range voters {
		if alive[name] {
			living++
		}
	}
	return living
}

func (w *QuorumWatch) silent(err error) {
	alive := map[string]bool{}
	w.alive(alive)
	w.mu.Lock()
	defer w.mu.Unlock()
	limit := silenceLimit
	if len(w.voters) > 0 && livingOf(w.voters, alive) >= len(w.voters)/2+1 {
		limit = patientLimit
	}
	if d := time.Since(w.since); d > limit {
		w.lost = append(w.lost, fmt.Sprintf("%s: no answer for %v: %v", time.Now().Format("15:04:05.000"), d.Round(time.Second), err))
		w.since = time.Now()
	}
}

// Result returns the number of checks, and the reports of missing quorums.
func (w *QuorumWatch) Result() (int, []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.looks, w.lost
}

// answers returns an error unless the cluster answers a linearizable read.
func answers(tb testing.TB, cfg clientv3.Config) error {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	client, err := clientv3.New(cfg)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	_, err = client.Get(ctx, "acctest")
	return err
}
