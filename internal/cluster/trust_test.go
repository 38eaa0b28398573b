// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// trap returns the port of an [etcdtest.Trap].
func trap(t *testing.T, host string) (port string, connections *atomic.Int32) {
	t.Helper()
	address, connections := etcdtest.Trap(t, host)
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return port, connections
}

// A real member advertises three addresses in addition to its own: its host in
// plain text, another host with TLS, and another host in plain text. With a
// password, Observe dials none of them, and asks the member at the endpoint.
func TestAdvertisedURLsGetNoPassword(t *testing.T) {
	t.Parallel()
	const password = "Tr0ub4dor"
	pki := etcdtest.NewPKI(t)
	plainPort, plain := trap(t, "127.0.0.1")
	otherPort, other := trap(t, "127.7.0.1")
	bothPort, both := trap(t, "127.7.0.2")
	extra := []string{"http://127.0.0.1:" + plainPort, "https://127.7.0.1:" + otherPort, "http://127.7.0.2:" + bothPort}
	c := etcdtest.Start(t, 1, etcdtest.Options{TLS: pki, Password: password, Advertise: extra})

	s := connection.Settings{
		Endpoints: c.Endpoints(), TLS: pki.ClientConfig(pki.Client("run")), Username: "root", Password: password,
	}
	pool := &connection.Pool{}
	t.Cleanup(func() { _ = pool.Close() })
	client := New(s, pool)
	snap, err := client.Observe(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	m := snap.Members[0]
	if len(m.ClientURLs) != 4 {
		t.Fatalf("it advertises %v", m.ClientURLs)
	}
	if a := snap.Answer(m.ID); a.State != membership.Answered || a.Endpoint != c.Endpoints()[0] {
		t.Errorf("got %+v", a)
	}
	if n := plain.Load() + other.Load() + both.Load(); n != 0 {
		t.Errorf("%d connections to addresses that no argument names", n)
	}
}

// otherName returns a cluster of two over TLS, whose second member advertises
// another name than the configured endpoint: localhost.
func otherName(t *testing.T, o etcdtest.Options) (c *etcdtest.Cluster, second membership.MemberID) {
	t.Helper()
	c = etcdtest.Start(t, 2, o)
	p := c.Members()[1]
	p.Kill()
	p.Env["ETCD_ADVERTISE_CLIENT_URLS"] = strings.Replace(p.ClientURL(), "127.0.0.1", "localhost", 1)
	p.Start()
	if err := p.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	etcdtest.Eventually(t, "the member advertises its other name", func() error {
		list, err := c.Client(t).MemberList(t.Context())
		if err != nil {
			return err
		}
		for _, m := range list.Members {
			if m.Name == p.Name && len(m.ClientURLs) == 1 && strings.Contains(m.ClientURLs[0], "localhost") {
				second = membership.MemberID(m.ID)
				return nil
			}
		}
		return fmt.Errorf("the members are %v", list.Members)
	})
	return c, second
}

// With a password, a member at a host that is not configured is not asked. A
// call for a resource that names the host asks it. This does not change other
// calls, earlier or later, over the same connections.
func TestTrustBelongsToTheCall(t *testing.T) {
	t.Parallel()
	const password = "Tr0ub4dor"
	pki := etcdtest.NewPKI(t)
	c, second := otherName(t, etcdtest.Options{TLS: pki, Password: password})
	s := connection.Settings{
		Endpoints: c.Endpoints()[:1], TLS: pki.ClientConfig(pki.Client("run")), Username: "root", Password: password,
	}
	pool := &connection.Pool{}
	t.Cleanup(func() { _ = pool.Close() })
	trusting := s
	trusting.Named = []string{"https://localhost:2379"}
	client, other := New(s, pool), New(trusting, pool)
	naming := connection.Naming(t.Context(), "https://localhost:2380")
	for i, step := range []struct {
		ctx    context.Context
		client *Client
		want   membership.AnswerState
	}{
		{t.Context(), client, membership.Unprobed},
		{naming, client, membership.Answered},
		{t.Context(), client, membership.Unprobed},
		{t.Context(), other, membership.Answered},
		{t.Context(), client, membership.Unprobed},
	} {
		snap, err := step.client.Observe(step.ctx, 0)
		if err != nil {
			t.Fatal(err)
		}
		a := snap.Answer(second)
		if a.State != step.want {
			t.Errorf("step %d: got %+v, want %v", i, a, step.want)
		}
		if a.State == membership.Unprobed && a.Detail != "not asked: "+string(connection.Unnamed) {
			t.Errorf("step %d: the reason is %q", i, a.Detail)
		}
	}
	// The route may contain the second member's address now. Other calls leave it out.
	client.prefer("https://localhost:" + port(t, c.Endpoints()[1]))
	if _, _, err := client.Members(t.Context()); err != nil {
		t.Errorf("a list over another's address: %v", err)
	}
}

func port(t *testing.T, endpoint string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(strings.TrimPrefix(endpoint, "https://"))
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// With only a client certificate, the configured CA is trusted for every name
// that members advertise.
func TestOtherNamesWithACertificate(t *testing.T) {
	t.Parallel()
	pki := etcdtest.NewPKI(t)
	c, second := otherName(t, etcdtest.Options{TLS: pki})
	s := connection.Settings{
		Endpoints: c.Endpoints()[:1], TLS: pki.ClientConfig(pki.Client("run")),
	}
	pool := &connection.Pool{}
	t.Cleanup(func() { _ = pool.Close() })
	snap, err := New(s, pool).Observe(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if a := snap.Answer(second); a.State != membership.Answered {
		t.Errorf("got %+v", a)
	}
}
