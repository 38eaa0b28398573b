// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// A member of two advertises another name than the configured endpoint, localhost, and two
// addresses in plain text, one of them at the host of the endpoint. With a password, it is
// not asked, and the addresses are not dialled. A call for a resource that names the host
// asks it there. This does not change other calls, earlier or later, over the same
// connections. With only a client certificate, the configured CA is trusted for every name
// that members advertise.
func TestTrustBelongsToTheCall(t *testing.T) {
	t.Parallel()
	pki := etcdtest.NewPKI(t)
	near, nearDials := etcdtest.Trap(t, "127.0.0.1")
	far, farDials := etcdtest.Trap(t, "127.7.0.2")
	c := etcdtest.Start(t, 2, etcdtest.Options{TLS: pki, Password: password})
	p, named := c.Members()[1], strings.Replace(c.Endpoints()[1], "127.0.0.1", "localhost", 1)
	p.Kill()
	p.Env["ETCD_ADVERTISE_CLIENT_URLS"] = fmt.Sprintf("%s,http://%s,http://%s", named, near, far)
	p.Start()
	if err := p.WaitReady(etcdtest.WaitContext(t)); err != nil {
		t.Fatal(err)
	}
	second := membership.MemberID(c.MemberID(t, p))
	etcdtest.Eventually(t, "the member advertises its other name", func() error {
		list, err := c.Client(t).MemberList(t.Context())
		for _, m := range list.Members {
			if m.ID == uint64(second) && len(m.ClientURLs) != 3 {
				err = fmt.Errorf("it advertises %v", m.ClientURLs)
			}
		}
		return err
	})
	s := as("root", password, c.Endpoints()[0])
	s.TLS, s.DialTimeout, s.RequestTimeout = pki.ClientConfig(pki.Client("run")), time.Minute, time.Minute
	trusting, certificate := s, s
	trusting.Named = []string{"https://localhost:2379"}
	certificate.Username, certificate.Password, certificate.TLS = "", "", pki.ClientConfig(pki.Client("root"))
	pool := &connection.Pool{}
	t.Cleanup(func() { _ = pool.Close() })
	client := New(s, pool)
	naming := connection.Naming(t.Context(), "https://localhost:2380")
	for i, step := range []struct {
		ctx    context.Context
		client *Client
		want   membership.AnswerState
	}{
		{t.Context(), client, membership.Unprobed},
		{naming, client, membership.Answered},
		{t.Context(), client, membership.Unprobed},
		{t.Context(), New(trusting, pool), membership.Answered},
		{t.Context(), client, membership.Unprobed},
		{t.Context(), New(certificate, pool), membership.Answered},
	} {
		snap, err := step.client.Observe(step.ctx, 0)
		if err != nil {
			t.Fatal(err)
		}
		a := snap.Answer(second)
		if a.State != step.want || a.State == membership.Answered && a.Endpoint != named {
			t.Errorf("step %d: got %+v, want %v", i, a, step.want)
		}
		if a.State == membership.Unprobed && !strings.HasPrefix(a.Detail, "not asked: ") {
			t.Errorf("step %d: the reason is %q", i, a.Detail)
		}
	}
	if nearDials.Load() != 0 || farDials.Load() != 0 {
		t.Errorf("%d and %d connections to addresses in plain text", nearDials.Load(), farDials.Load())
	}
	// The route may contain the second member's address now. Other calls leave it out.
	client.prefer(named)
	if _, _, err := client.Members(t.Context()); err != nil {
		t.Errorf("a list over another's address: %v", err)
	}
}

// Three healthy members are never given up, whatever keeps the provider from them: a CA that
// did not sign their certificates shows servers.
func TestEvidence(t *testing.T) {
	t.Parallel()
	pki, stranger := etcdtest.NewPKI(t), etcdtest.NewPKI(t)
	b := etcdtest.Start(t, 3, etcdtest.Options{TLS: pki})
	good := settings(b.Endpoints()...)
	good.TLS, good.DialTimeout, good.RequestTimeout = pki.ClientConfig(pki.Client("run")), time.Minute, time.Minute
	snap := observe(t, clientFor(t, good))
	untrusted := good
	untrusted.TLS = stranger.ClientConfig(stranger.Client("run"))
	learned := untrusted
	learned.Endpoints = []string{etcdtest.NewProcess(t, etcdtest.Options{TLS: pki}).ClientURL()} // not started
	for _, c := range []struct {
		name   string
		s      connection.Settings
		stated int
		want   membership.Code
	}{
		{"three healthy members", good, 0, membership.HasQuorum},
		{"three healthy members", good, 3, membership.HasQuorum},
		{"another CA", untrusted, 0, membership.MayServe},
		{"another CA", untrusted, 3, membership.Contradicted},
		{"another CA, at addresses that the state knows", learned, 0, membership.MayServe},
	} {
		client := clientFor(t, c.s)
		r := membership.GiveUpRequest{Cluster: snap.ClusterID, Known: snap.Members}
		for i, m := range snap.Members {
			client.AddFallbackEndpoints(m.ClientURLs)
			if i < c.stated {
				r.Gone = append(r.Gone, m.Name)
			}
		}
		e := client.Evidence(t.Context(), snap.ClusterID)
		if d := membership.DecideGiveUp(e, r); d.Code != c.want || d.Verdict == membership.Go {
			t.Errorf("%s, %d stated: %v %q, want %q\n%+v", c.name, c.stated, d.Verdict, d.Code, c.want, e)
		}
	}
}
