// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/goleak"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdsim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/must"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func settings(endpoints ...string) connection.Settings {
	return connection.Settings{Endpoints: endpoints, DialTimeout: time.Second, RequestTimeout: 3 * time.Second}
}

func clientFor(t *testing.T, s connection.Settings) *Client { t.Helper(); return pooled(t, s, nil) }

func pooled(t *testing.T, s connection.Settings, world connection.World) *Client {
	t.Helper()
	pool := &connection.Pool{World: world}
	t.Cleanup(func() { _ = pool.Close() })
	return New(s, pool)
}

func observe(t *testing.T, c *Client) membership.Snapshot {
	t.Helper()
	snap, err := c.Observe(etcdtest.WaitContext(t), 0)
	must.Succeed(t, err)
	return snap
}

// world is a simulated network with a healthy cluster of a, b and c, which is led by a.
type world struct {
	*testing.T
	net etcdsim.Network
	*etcdsim.Cluster
}

// simulate runs f in virtual time.
func simulate(t *testing.T, f func(w *world)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t}
		w.Cluster = w.net.Form("3.6.16", "a", "b", "c")
		time.Sleep(10 * time.Second)
		f(w)
	})
}

// client returns a client that has these settings, and etcd's own of a member.
func (w *world) client(s connection.Settings) *Client { return pooled(w.T, s, w.net.Run("run")) }

func (w *world) etcd() *clientv3.Client {
	return w.net.Run("test").Client(etcdsim.ClientURL("a"), etcdsim.ClientURL("a"))
}

// at returns the settings for the members of these names.
func at(names ...string) connection.Settings {
	var urls []string
	for _, name := range names {
		urls = append(urls, etcdsim.ClientURL(name))
	}
	return settings(urls...)
}

// Behind one shared address only one member is seen; the state of the others is not known,
// which differs from unreachable. Of two clusters the expected one is seen. If the endpoints
// have changed, an expected cluster is found where it was reached in the past; without an
// expected cluster these endpoints are not asked.
func TestObserveElsewhere(t *testing.T) {
	simulate(t, func(w *world) {
		shared := at("a")
		shared.AddressMap = map[string]string{etcdsim.ClientURL("b"): shared.Endpoints[0], etcdsim.ClientURL("c"): shared.Endpoints[0]}
		snap := observe(w.T, w.client(shared))
		states := map[membership.AnswerState]int{}
		for _, m := range snap.Members {
			states[snap.Answer(m.ID).State]++
		}
		if states[membership.Answered] != 1 || states[membership.Unprobed] != 2 {
			w.Errorf("states %v, want 1 answered and 2 unprobed", states)
		}
		id := snap.ClusterID
		w.net.Form("3.6.16", "z")
		if snap, err := w.client(at("z", "a")).Observe(w.Context(), id); err != nil || snap.ClusterID != id || len(snap.Others) != 1 {
			w.Errorf("asked for %s, got %s beside %v (%v)", id, snap.ClusterID, snap.Others, err)
		}
		c := w.client(at("nobody"))
		c.AddFallbackEndpoints(at("b").Endpoints)
		var gone *connection.Unreachable
		if _, err := c.Observe(w.Context(), 0); !errors.As(err, &gone) || len(gone.Answers) != 1 {
			w.Errorf("without an expectation: %v, want one endpoint that does not answer", err)
		}
		if snap, err := c.Observe(w.Context(), id); err != nil || snap.ClusterID != id || !snap.Linearizable {
			w.Errorf("saw %+v, %v", snap, err)
		}
	})
}

// onEach runs a test on each of the versions, side by side.
func onEach(t *testing.T, versions []etcdtest.Version, test func(t *testing.T, v etcdtest.Version)) {
	t.Helper()
	t.Parallel()
	for _, v := range versions {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			test(t, v)
		})
	}
}
