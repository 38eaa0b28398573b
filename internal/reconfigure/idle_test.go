// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// A learner loses the publication of its name behind a snapshot, and nothing is
// written after that. It believes that it has applied nothing, because only
// entries count, not snapshots. More than 5,000 entries behind, etcd refuses
// all its proposals, including its name, with "too many requests", permanently
// and as fast as it can. The wait of the join writes an entry. (Without that
// write the join below does not end. 3.5 is not affected: it publishes names
// without that limit.)
func TestJoinOnAnIdleCluster(t *testing.T) {
	t.Parallel()
	versions := []etcdtest.Version{etcdtest.V36}
	if etcdtest.Full() {
		versions = []etcdtest.Version{etcdtest.V36, etcdtest.V37}
	}
	for _, v := range versions {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			opts := etcdtest.Options{Version: v, Env: shortLog(v)}
			first := etcdtest.NewProcess(t, opts)
			before := beforePeer(t, first)
			first.Env["ETCD_INITIAL_CLUSTER"] = first.Name + "=" + before.URL
			first.Start()
			if err := first.WaitReady(etcdtest.WaitContext(t)); err != nil {
				t.Fatal(err)
			}
			engine := engineFor(t, opts, []string{first.ClientURL()})
			// The lease of a released lock expires later, which is also an
			// entry.
			engine.Locker = nil
			entries(t, first, 5600)

			opts.Name = "d"
			d := etcdtest.NewProcess(t, opts)
			beforeD := beforePeer(t, d)
			d.Env["ETCD_INITIAL_CLUSTER"] = first.Name + "=" + before.URL + ",d=" + beforeD.URL
			d.Env["ETCD_INITIAL_CLUSTER_STATE"] = "existing"
			r := request(d, reconfigure.Announced)
			r.PeerURLs = []string{beforeD.URL}
			if _, err := engine.Join(etcdtest.WaitContext(t), r); err != nil {
				t.Fatal(err)
			}
			before.lose.Store(true)
			beforeD.lose.Store(true)
			d.Start()
			etcdtest.Until(t, "d has applied a snapshot", func() bool { return strings.Contains(d.Log(), `"applied snapshot"`) })
			before.lose.Store(false)
			beforeD.lose.Store(false)
			// It tries again after 7 s.
			etcdtest.Until(t, "d is caught", func() bool { return strings.Contains(d.Log(), "etcdserver: too many requests") })
			members, _, err := engine.Cluster.Members(etcdtest.WaitContext(t))
			if _, ok := named(members, "d"); ok || err != nil {
				t.Fatalf("d has a name: %+v, %v", members, err)
			}

			r.Goal = reconfigure.Voting
			got, err := engine.Join(etcdtest.WaitContext(t), r)
			if err != nil {
				t.Fatal(err)
			}
			if got.Member.Name != "d" || got.Member.Learner {
				t.Errorf("joined as %+v", got.Member)
			}
		})
	}
}

// entries makes n small writes.
func entries(t *testing.T, p *etcdtest.Process, n int) {
	t.Helper()
	client, ctx := p.Client(t), etcdtest.WaitContext(t)
	errs := make(chan error, 32)
	for range cap(errs) {
		go func() {
			var err error
			for i := 0; i <= n/cap(errs) && err == nil; i++ {
				_, err = client.Put(ctx, "entry", "")
			}
			errs <- err
		}()
	}
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
}

// peerProxy is a proxy before a peer port that understands the messages.
type peerProxy struct {
	URL string
	// lose is true while proposals are dropped and streams are refused: then
	// every message is a separate request that shows its kind.
	lose atomic.Bool
}

// beforePeer starts a proxy before p's peer port, and advertises the proxy.
func beforePeer(t *testing.T, p *etcdtest.Process) *peerProxy {
	t.Helper()
	target, err := url.Parse(p.Env["ETCD_LISTEN_PEER_URLS"])
	if err != nil {
		t.Fatal(err)
	}
	x := &peerProxy{}
	pass := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		FlushInterval: -1,
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	transport := &http.Transport{}
	pass.Transport = transport
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if x.lose.Load() {
			if strings.HasPrefix(r.URL.Path, "/raft/stream/") {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			if r.URL.Path == "/raft" {
				body, err := io.ReadAll(r.Body)
				if err != nil || bytes.HasPrefix(body, proposal) {
					w.WriteHeader(http.StatusNoContent)
					return
				}
				r.Body = io.NopCloser(bytes.NewReader(body))
			}
		}
		pass.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		// Close the listener first: otherwise Close waits for peers that dial again.
		_ = server.Config.Close()
		server.Close()
		transport.CloseIdleConnections()
	})
	x.URL = server.URL
	p.Env["ETCD_INITIAL_ADVERTISE_PEER_URLS"] = x.URL
	return x
}

// proposal is the beginning of a raft message that forwards a proposal to the
// leader: field 1, the type, is MsgProp.
var proposal = []byte{0x08, 0x02}

// shortLog makes etcd send snapshots early.
func shortLog(v etcdtest.Version) map[string]string {
	catchUp := "ETCD_SNAPSHOT_CATCHUP_ENTRIES"
	if v == etcdtest.V34 || v == etcdtest.V35 {
		catchUp = "ETCD_EXPERIMENTAL_SNAPSHOT_CATCHUP_ENTRIES"
	}
	return map[string]string{"ETCD_SNAPSHOT_COUNT": "20", catchUp: "5"}
}
