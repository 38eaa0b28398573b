// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

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
