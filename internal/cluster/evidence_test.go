// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// Every answer of an endpoint shows a server, except those that are listed here.
func TestWhatAnAnswerMeans(t *testing.T) {
	t.Parallel()
	failed := func(k connection.Kind) error { return &connection.Error{Kind: k, Err: errors.New("x")} }
	for kind, want := range map[connection.Kind]bool{
		connection.Refused: true, connection.NoRoute: true, connection.Timeout: true, connection.DNS: true, connection.NotAsked: true,
		connection.NoLogin: false, connection.Learner: false,
		connection.UnknownCA: false, connection.Expired: false, connection.HostMismatch: false, connection.PlainServer: false, connection.ClientCert: false, connection.TLSOther: false,
		connection.NotEtcd: false, connection.WrongPassword: false, connection.AuthRequired: false, connection.StaleToken: false, connection.PermissionDenied: false,
		connection.Interrupted: false, connection.Redirected: false, connection.Server: false, "something new": false,
	} {
		if got := isSilent(failed(kind)); got != want {
			t.Errorf("%q: %v, want %v", kind, got, want)
		}
		gone := &connection.Unreachable{Answers: []connection.Answer{{Err: failed(connection.Refused)}, {Err: failed(kind)}}}
		if MayServe(gone) != (!want && kind != connection.NoLogin) {
			t.Errorf("%q beside a refused connection: %v", kind, MayServe(gone))
		}
	}
	list := memberList{cluster: 7, from: 3}
	status := func(cluster uint64, learner bool) *clientv3.StatusResponse {
		return (*clientv3.StatusResponse)(&pb.StatusResponse{Header: &pb.ResponseHeader{ClusterId: cluster, MemberId: 3}, IsLearner: learner})
	}
	timeout := failed(connection.Timeout)
	for _, c := range []struct {
		name    string
		p       probe
		silent  bool
		cluster membership.ClusterID // of the answer, 0 if it names none
	}{
		{"nothing was sent", probe{err: context.DeadlineExceeded, listErr: context.Canceled}, true, 0},
		{"an unknown error", probe{err: errors.New("x"), listErr: timeout}, false, 0},
		{"one request of two shows a server", probe{err: failed(connection.UnknownCA), listErr: timeout}, false, 0},
		{"no login explains the status", probe{err: failed(connection.AuthRequired), listErr: failed(connection.NoLogin)}, false, 0},
		{"another cluster", probe{status: status(8, false), readOK: true}, false, 8},
		{"serves reads", probe{status: status(7, false), readOK: true, lists: []memberList{list}}, false, 7},
		{"serves reads, without a status", probe{err: timeout, readOK: true, lists: []memberList{list}}, false, 7},
		{"a list without a status", probe{err: timeout, lists: []memberList{list}}, false, 7},
		{"a status without a list", probe{status: status(7, false), listErr: timeout}, false, 7},
		{"a status, and no login", probe{status: status(7, false), listErr: failed(connection.NoLogin)}, false, 7},
		{"a local list", probe{status: status(7, false), lists: []memberList{list}}, false, 7},
		{"a learner", probe{status: status(7, true), listErr: failed(connection.Learner)}, false, 7},
	} {
		if got := c.p.heard(7); got.Silent != c.silent || got.Cluster != c.cluster || (got.Member == 3) != (c.cluster != 0) || got.Detail == "" {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// Three healthy members are never given up, whatever keeps the provider from them:
// a CA that did not sign their certificates shows servers, and tunnels that are closed
// are no proof. A survivor without a quorum counts as one of the voters.
func TestEvidence(t *testing.T) {
	t.Parallel()
	pki, stranger := etcdtest.NewPKI(t), etcdtest.NewPKI(t)
	b := etcdtest.Start(t, 3, etcdtest.Options{TLS: pki})
	good := settings(b.Endpoints()...)
	good.TLS, good.DialTimeout, good.RequestTimeout = pki.ClientConfig(pki.Client("run")), time.Minute, time.Minute
	id := observe(t, clientFor(t, good)).ClusterID
	untrusted, tunnels, learned := good, good, good
	untrusted.TLS = stranger.ClientConfig(stranger.Client("run"))
	tunnels.AddressMap = map[string]string{}
	for _, e := range b.Endpoints() {
		tunnels.AddressMap[e] = etcdtest.NewProcess(t, etcdtest.Options{TLS: pki}).ClientURL() // not started
	}
	learned.Endpoints, learned.TLS = []string{etcdtest.NewProcess(t, etcdtest.Options{TLS: pki}).ClientURL()}, untrusted.TLS
	list := observe(t, clientFor(t, good)).Members
	must := func(name string, s connection.Settings, stated int, want membership.Code) {
		t.Helper()
		c := clientFor(t, s)
		r := membership.GiveUpRequest{Cluster: id, Known: list}
		for _, m := range list {
			c.AddFallbackEndpoints(m.ClientURLs)
			if i := slices.Index([]string{"infra1", "infra2", "infra3"}, m.Name); i >= 3-stated {
				r.Gone = append(r.Gone, m.Name)
			}
		}
		e := c.Evidence(t.Context(), id)
		if d := membership.DecideGiveUp(e, r); d.Code != want || (d.Verdict == membership.Go) != (want == "") {
			t.Errorf("%s, %d stated: %v %q, want %q\n%+v", name, stated, d.Verdict, d.Code, want, e)
		}
	}
	for stated := range 4 {
		must("three healthy members", good, stated, membership.HasQuorum)
	}
	must("another CA", untrusted, 0, membership.MayServe)
	must("another CA", untrusted, 3, membership.Contradicted)
	must("another CA, at addresses that the state knows", learned, 0, membership.MayServe)
	must("closed tunnels", tunnels, 0, membership.NotStated)
	must("closed tunnels", tunnels, 2, membership.NotStated)
	must("closed tunnels", tunnels, 3, "")
	b.Members()[1].Kill()
	b.Members()[2].Kill()
	good.RequestTimeout = 3 * time.Second // a read without a quorum takes all of it
	must("one survivor", good, 0, membership.NotStated)
	must("one survivor", good, 1, membership.NotStated)
	must("one survivor", good, 2, "")
	must("one survivor", good, 3, membership.Contradicted)
	must("one survivor, another CA", untrusted, 2, membership.MayServe)
}
