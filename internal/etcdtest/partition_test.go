// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"context"
	"errors"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

func put(ctx context.Context, c *clientv3.Client) error {
	_, err := c.Put(ctx, "key", "value")
	return err
}

// A leader that is cut off from the other members no longer completes writes,
// and the others elect a new leader. Clients reach both sides all the time.
func TestIsolatedLeader(t *testing.T) {
	t.Parallel()
	c := Start(t, 3, Options{Version: V36, Links: true, TLS: NewPKI(t)})
	old := c.Leader(t)
	c.Isolate(old)
	Until(t, "another leader", func() bool { return c.Leader(t) != old })
	for _, p := range c.Members() {
		if p == old {
			continue
		}
		noError(t, put(WaitContext(t), p.Client(t)))
	}
	client := old.Client(t)
	if err := put(within(t, time.Second), client); err == nil {
		t.Error("a write through the isolated member was acknowledged")
	}
	if _, err := client.Get(WaitContext(t), "key", clientv3.WithSerializable()); err != nil {
		t.Errorf("the isolated member does not answer clients: %v", err)
	}
	c.Heal()
	noError(t, c.WaitHealthy(WaitContext(t)))
	noError(t, put(WaitContext(t), client))
}

// Two of four members on each side: neither side has the quorum of three.
func TestSplit(t *testing.T) {
	t.Parallel()
	c := Start(t, 4, Options{Links: true})
	m := c.Members()
	c.Split(m[0], m[1])
	for _, p := range m {
		if err := put(within(t, 1500*time.Millisecond), p.Client(t)); !errors.Is(err, context.DeadlineExceeded) && err == nil {
			t.Errorf("%s: a write was acknowledged by two of four", p.Name)
		}
	}
	// Three against one: the three accept writes again.
	c.Split(m[0])
	noError(t, put(WaitContext(t), m[1].Client(t)))
	c.Heal()
	noError(t, c.WaitHealthy(WaitContext(t)))
}

func TestProxyBeforeTheClientPort(t *testing.T) {
	t.Parallel()
	c := Start(t, 1, Options{})
	link := Proxy(t, c.Member("infra1").ClientURL()[len("http://"):])
	cfg := c.ClientConfig()
	cfg.Endpoints = []string{link.Addr()}
	client := newClient(t, cfg)
	noError(t, put(WaitContext(t), client))
	link.Cut()
	if err := put(within(t, 300*time.Millisecond), client); err == nil {
		t.Error("a write came through a cut link")
	}
	link.Heal()
	noError(t, put(WaitContext(t), client))
}
