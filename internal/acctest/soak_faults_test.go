// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// wires are the network of a fleet: every node advertises a proxy in front of
// each of its ports, so that it can be cut off, slowed down and reset.
type wires struct {
	tb     testing.TB
	server *toxiproxy.ApiServer

	mu   sync.Mutex
	node map[string][]*toxiproxy.Proxy
}

func newWires(tb testing.TB) *wires {
	return &wires{
		tb: tb, server: toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop()),
		node: map[string][]*toxiproxy.Proxy{},
	}
}

// wire puts proxies in front of a node that has not started.
func (w *wires) wire(f *Fleet, name string) {
	w.tb.Helper()
	n := f.Nodes[name]
	n.Listen, n.ListenPeer = []string{n.Client}, []string{n.Peer}
	n.Client, n.Peer = w.proxy(name, n.Client), w.proxy(name, n.Peer)
}

func (w *wires) proxy(name, to string) string {
	w.tb.Helper()
	u, err := url.Parse(to)
	if err != nil {
		w.tb.Fatal(err)
	}
	p := toxiproxy.NewProxy(w.server, name, "127.0.0.1:0", u.Host)
	if err := p.Start(); err != nil {
		w.tb.Fatal(err)
	}
	w.tb.Cleanup(p.Stop)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.node[name] = append(w.node[name], p)
	return "http://" + p.Listen
}

// toxics are what a fault does to the two directions of a node's connections:
// upstream is what others send to it.
var toxics = map[string][]string{
	"cut":     {`{"type":"timeout","stream":"upstream"}`, `{"type":"timeout","stream":"downstream"}`},
	"cut in":  {`{"type":"timeout","stream":"upstream"}`},
	"cut out": {`{"type":"timeout","stream":"downstream"}`},
	"slow":    {`{"type":"latency","stream":"downstream","attributes":{"latency":700,"jitter":300}}`},
	"delay":   {`{"type":"latency","stream":"downstream","attributes":{"latency":80,"jitter":60}}`},
	"reset":   {`{"type":"reset_peer","stream":"downstream","attributes":{"timeout":150}}`},
}

// poison makes a fault of the network, heal ends all of them.
func (w *wires) poison(name, kind string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.node[name] {
		for _, toxic := range toxics[kind] {
			if _, err := p.Toxics.AddToxicJson(strings.NewReader(toxic)); err != nil {
				return fmt.Errorf("%s of %s: %w", kind, name, err)
			}
		}
	}
	return nil
}

func (w *wires) heal(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.node[name] {
		p.Toxics.ResetToxics(context.Background())
	}
}

// inflict carries a fault out, beginning and end, unless ctx is done before it
// begins. It reports whether it happened: a process may not be there to suffer.
func (s *soak) inflict(ctx context.Context, fault soakFault, run *Running) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(fault.after):
	}
	// Its end does not hang on the run's.
	wait := func() { time.Sleep(fault.lasts) }
	switch fault.kind {
	case "kill":
		s.watch.excuse(fault.who)
		return s.fleet.signal(fault.who, "etcd.pid", syscall.SIGKILL) == nil
	case "freeze":
		s.watch.excuse(fault.who)
		if s.fleet.signal(fault.who, "etcd.pid", syscall.SIGSTOP) != nil {
			return false
		}
		wait()
		return s.fleet.signal(fault.who, "etcd.pid", syscall.SIGCONT) == nil
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
		if err := s.wires.poison(fault.who, fault.kind); err != nil {
			s.tb.Error(err)
			return false
		}
		wait()
		s.wires.heal(fault.who)
		return true
	}
}

// signalAll reports whether there was anybody to send the signal to.
func signalAll(pids []int, sig syscall.Signal) bool {
	sent := false
	for _, pid := range pids {
		sent = syscall.Kill(pid, sig) == nil || sent
	}
	return sent
}

// A node behind wires can be reached, cut off for a while, and reached again.
func TestSoakWires(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 1, etcdtest.Options{})
	w := newWires(t)
	through := w.proxy("a", c.Endpoints()[0])
	get := func() error {
		cfg := c.ClientConfig()
		cfg.Endpoints = []string{through}
		return answers(t, cfg)
	}
	if err := get(); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"cut", "cut in", "cut out"} {
		if err := w.poison("a", kind); err != nil {
			t.Fatal(err)
		}
		if get() == nil {
			t.Errorf("%s: it answers", kind)
		}
		w.heal("a")
		if err := get(); err != nil {
			t.Errorf("after %s: %v", kind, err)
		}
	}
	for _, kind := range []string{"delay", "reset"} {
		if err := w.poison("a", kind); err != nil {
			t.Fatal(err)
		}
		w.heal("a")
		if err := get(); err != nil {
			t.Errorf("after %s: %v", kind, err)
		}
	}
}
