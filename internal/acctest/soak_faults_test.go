// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"context"
	"math/rand/v2"
	"net/url"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// wires are the network of a fleet: every node advertises a link in front of
// each of its ports, which can be cut, slowed down and reset.
type wires struct {
	tb testing.TB

	mu   sync.Mutex
	node map[string][]*etcdtest.Link
}

func newWires(tb testing.TB) *wires { return &wires{tb: tb, node: map[string][]*etcdtest.Link{}} }

// wire puts links in front of a node that has not started.
func (w *wires) wire(f *Fleet, name string) {
	w.tb.Helper()
	n := f.Nodes[name]
	n.Listen, n.ListenPeer = []string{n.Client}, []string{n.Peer}
	n.Client, n.Peer = w.link(name, n.Client), w.link(name, n.Peer)
}

func (w *wires) link(name, to string) string {
	w.tb.Helper()
	u, err := url.Parse(to)
	if err != nil {
		w.tb.Fatal(err)
	}
	l := etcdtest.Proxy(w.tb, u.Host)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.node[name] = append(w.node[name], l)
	return "http://" + l.Addr()
}

// about returns a varying delay.
func about(d, jitter time.Duration) func() time.Duration {
	return func() time.Duration { return d - jitter + rand.N(2*jitter) }
}

// faults are the possible faults of a node's connections.
var faults = map[string]func(l *etcdtest.Link){
	"cut":     (*etcdtest.Link).Cut,
	"cut in":  func(l *etcdtest.Link) { l.CutWay(etcdtest.In) },
	"cut out": func(l *etcdtest.Link) { l.CutWay(etcdtest.Out) },
	"slow":    func(l *etcdtest.Link) { l.Delay(etcdtest.Out, about(700*time.Millisecond, 300*time.Millisecond)) },
	"delay":   func(l *etcdtest.Link) { l.Delay(etcdtest.Out, about(80*time.Millisecond, 60*time.Millisecond)) },
	"reset":   (*etcdtest.Link).Reset,
}

// disturb causes a network fault, heal ends all of them.
func (w *wires) disturb(name, kind string) { w.each(name, faults[kind]) }

func (w *wires) heal(name string) { w.each(name, (*etcdtest.Link).Heal) }

func (w *wires) each(name string, do func(l *etcdtest.Link)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.node[name] {
		do(l)
	}
}

// inflict causes a fault and ends it, unless ctx is done before it begins. It
// reports whether the fault happened: its target process may not exist.
func (s *soak) inflict(ctx context.Context, fault soakFault, run *Running) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(fault.after):
	}
	// The end of the fault does not depend on that of the run.
	wait := func() { time.Sleep(fault.lasts) }
	switch fault.kind {
	case "kill":
		s.watch.excuse(fault.who)
		return s.fleet.SignalFile(fault.who, "etcd.pid", syscall.SIGKILL) == nil
	case "freeze":
		s.watch.excuse(fault.who)
		if s.fleet.SignalFile(fault.who, "etcd.pid", syscall.SIGSTOP) != nil {
			return false
		}
		wait()
		return s.fleet.SignalFile(fault.who, "etcd.pid", syscall.SIGCONT) == nil
	case "kill the CLI", "interrupt":
		if run.Ended() {
			return false
		}
		if fault.kind == "interrupt" {
			run.Interrupt()
		} else {
			run.Kill()
		}
		return true
	case "kill the provider", "freeze the provider":
		pids := run.Providers()
		if fault.kind == "kill the provider" {
			return signalAll(pids, syscall.SIGKILL)
		}
		if !signalAll(pids, syscall.SIGSTOP) {
			return false
		}
		wait()
		return signalAll(pids, syscall.SIGCONT)
	default:
		// Repeat the fault for new connections.
		for end := time.Now().Add(fault.lasts); time.Now().Before(end); time.Sleep(150 * time.Millisecond) {
			s.wires.disturb(fault.who, fault.kind)
		}
		s.wires.heal(fault.who)
		return true
	}
}

// signalAll reports whether any process received the signal.
func signalAll(pids []int, sig syscall.Signal) bool {
	sent := false
	for _, pid := range pids {
		sent = syscall.Kill(pid, sig) == nil || sent
	}
	return sent
}

// A node behind wires is reachable, cut off for a while, and reachable again.
func TestSoakWires(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 1, etcdtest.Options{})
	w := newWires(t)
	through := w.link("a", c.Endpoints()[0])
	get := func() error {
		cfg := c.ClientConfig()
		cfg.Endpoints = []string{through}
		return answers(t, cfg)
	}
	if err := get(); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"cut", "cut in", "cut out"} {
		w.disturb("a", kind)
		if get() == nil {
			t.Errorf("%s: it answers", kind)
		}
		w.heal("a")
		if err := get(); err != nil {
			t.Errorf("after %s: %v", kind, err)
		}
	}
	for _, kind := range []string{"delay", "reset"} {
		w.disturb("a", kind)
		w.heal("a")
		if err := get(); err != nil {
			t.Errorf("after %s: %v", kind, err)
		}
	}
}
