// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"context"
	"errors"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// Every answer of an endpoint counts as a server that may serve, except those that are
// listed here with another meaning.
func TestWhatAnAnswerMeans(t *testing.T) {
	t.Parallel()
	const s, l, q, n = membership.ReplyServer, membership.ReplyLearner, membership.ReplyNoQuorum, membership.ReplyNone
	failed := func(k connection.Kind) error { return &connection.Error{Kind: k, Err: errors.New("x")} }
	for kind, want := range map[connection.Kind]membership.Reply{
		connection.Refused: n, connection.NoRoute: n, connection.Timeout: n, connection.DNS: n, connection.NotAsked: n,
		connection.NoLogin: q, connection.Learner: l,
		connection.UnknownCA: s, connection.Expired: s, connection.HostMismatch: s, connection.PlainServer: s, connection.ClientCert: s, connection.TLSOther: s,
		connection.NotEtcd: s, connection.WrongPassword: s, connection.AuthRequired: s, connection.StaleToken: s, connection.PermissionDenied: s,
		connection.Interrupted: s, connection.Redirected: s, connection.Server: s, "something new": s,
	} {
		if got := replyOf(failed(kind)); got != want {
			t.Errorf("%q: %d, want %d", kind, got, want)
		}
		gone := &connection.Unreachable{Answers: []connection.Answer{{Err: failed(connection.Refused)}, {Err: failed(kind)}}}
		if MayServe(gone) != (want == s || want == l) {
			t.Errorf("%q beside a refused connection: %v", kind, MayServe(gone))
		}
	}
	list := memberList{cluster: 7}
	status := func(cluster uint64, learner bool) *clientv3.StatusResponse {
		return (*clientv3.StatusResponse)(&pb.StatusResponse{Header: &pb.ResponseHeader{ClusterId: cluster}, IsLearner: learner})
	}
	timeout := failed(connection.Timeout)
	for _, c := range []struct {
		name string
		p    probe
		want membership.Reply
	}{
		{"nothing was sent", probe{err: context.DeadlineExceeded, listErr: context.Canceled}, n},
		{"an unknown error", probe{err: errors.New("x"), listErr: timeout}, s},
		{"one request of two shows a server", probe{err: failed(connection.UnknownCA), listErr: timeout}, s},
		{"no login explains the status", probe{err: failed(connection.AuthRequired), listErr: failed(connection.NoLogin)}, q},
		{"another cluster", probe{status: status(8, false), readOK: true}, n},
		{"serves reads", probe{status: status(7, false), readOK: true, lists: []memberList{list}}, s},
		{"serves reads, without a status", probe{err: timeout, readOK: true, lists: []memberList{list}}, s},
		{"a list without a status", probe{err: timeout, lists: []memberList{list}}, s},
		{"a status without a list", probe{status: status(7, false), listErr: timeout}, s},
		{"a status, and the list is denied", probe{status: status(7, false), listErr: failed(connection.AuthRequired)}, s},
		{"a status, and no login", probe{status: status(7, false), listErr: failed(connection.NoLogin)}, q},
		{"a local list", probe{status: status(7, false), readErr: timeout, lists: []memberList{list}}, q},
		{"a local list, and no leader", probe{status: status(7, false), readErr: rpctypes.ErrNoLeader, lists: []memberList{list}}, q},
		{"a local list, and the read needs a login", probe{status: status(7, false), readErr: failed(connection.AuthRequired), lists: []memberList{list}}, s},
		{"a local list, and the read fails otherwise", probe{status: status(7, false), readErr: failed(connection.Server), lists: []memberList{list}}, s},
		{"a voter that a stale list has as a learner", probe{status: status(7, false)}, s},
		{"a learner", probe{status: status(7, true), listErr: failed(connection.Learner)}, l},
	} {
		if got := c.p.heard(7); got.Reply != c.want || got.Detail == "" {
			t.Errorf("%s: %+v, want %d", c.name, got, c.want)
		}
	}
}

// Three healthy members are never given up, whatever keeps the provider from them:
// a CA that did not sign their certificates shows servers, and tunnels that are closed
// are no proof. A survivor without a quorum does not stand in the way.
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
	must := func(name string, s connection.Settings, heard int, unstated, stated membership.Code) {
		t.Helper()
		c := clientFor(t, s)
		c.AddFallbackEndpoints(b.Endpoints()[:1])
		e := c.Evidence(t.Context(), id)
		if len(e.Heard) != heard {
			t.Errorf("%s: heard %+v, want %d answers", name, e.Heard, heard)
		}
		for lost, want := range map[membership.ClusterID]membership.Code{0: unstated, id: stated} {
			if d := membership.DecideGiveUp(e, id, lost); d.Code != want || (d.Verdict == membership.Go) != (want == "") {
				t.Errorf("%s, stated %s: %v %q, want %q\n%+v", name, lost, d.Verdict, d.Code, want, e)
			}
		}
	}
	must("three healthy members", good, 3, membership.HasQuorum, membership.HasQuorum)
	must("another CA", untrusted, 3, membership.MayServe, membership.MayServe)
	must("another CA, at an address that the state knows", learned, 2, membership.MayServe, membership.MayServe)
	must("closed tunnels", tunnels, 3, membership.NotStated, "")
	b.Members()[1].Kill()
	b.Members()[2].Kill()
	good.RequestTimeout = 3 * time.Second // a read without a quorum takes all of it
	must("one survivor", good, 3, membership.NotStated, "")
	must("one survivor, another CA", untrusted, 3, membership.MayServe, membership.MayServe)
}
