// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/goleak"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdsim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
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

func TestMetrics(t *testing.T) {
	body := []byte(must.Read(t, "testdata/metrics.txt"))
	type ids = map[membership.MemberID]bool
	want := Metrics{
		Start: "1.79e+09", leads: true, Connected: ids{0xb2: true, 0xb3: true, 0xc3: false}, Sending: ids{0xb2: true, 0xc3: false},
		Traffic: map[membership.MemberID]Traffic{0xb2: {1.5e6, 23}, 0xc3: {0, 4}},
	}
	if got := metricsFrom(body, 0xa1); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := metricsFrom(body, 0xf6); got.Start != "" || len(got.Connected) > 0 {
		t.Errorf("from another member: %+v", got)
	}
}

// Each step is a read of the counters, after that time.
func TestDoubtSettles(t *testing.T) {
	type step struct {
		after time.Duration
		Traffic
	}
	const open, lives, gone = "open", "it lives", "it is gone"
	tests := map[string]struct {
		steps []step
		want  string
	}{
		"a word":                            {[]step{{peerPoll, Traffic{11, 100}}}, lives},
		"a word that nothing was sent for":  {[]step{{peerSilence, Traffic{11, 100}}}, lives},
		"nothing sent":                      {[]step{{peerPoll, Traffic{10, 100}}, {peerWatch, Traffic{10, 100}}}, open},
		"sent just now":                     {[]step{{peerWatch, Traffic{10, 101}}}, open},
		"sent, and there is time yet":       {[]step{{0, Traffic{10, 101}}, {peerSilence - 1, Traffic{10, 150}}}, open},
		"sent, and nothing said":            {[]step{{0, Traffic{10, 101}}, {peerSilence, Traffic{10, 101}}}, gone},
		"sent, and at last a word":          {[]step{{0, Traffic{10, 101}}, {peerSilence, Traffic{11, 101}}}, lives},
		"the leader has been started anew":  {[]step{{0, Traffic{10, 101}}, {peerSilence, Traffic{0, 3}}}, open},
		"anew, and a word":                  {[]step{{0, Traffic{0, 3}}, {peerPoll, Traffic{1, 3}}}, lives},
		"anew, and nothing said since then": {[]step{{0, Traffic{0, 3}}, {0, Traffic{0, 4}}, {peerSilence, Traffic{0, 5}}}, gone},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := peerCheck{last: Traffic{10, 100}}
			now := time.Now()
			got := open
			for _, s := range tt.steps {
				now = now.Add(s.after)
				switch active, settled := d.next(s.Traffic, now); {
				case settled && active:
					got = lives
				case settled:
					got = gone
				}
			}
			if got != tt.want {
				t.Errorf("%s, want that %s", got, tt.want)
			}
		})
	}
}

// The leader is a second source for which members have failed, on every version. If a frozen
// member is doubted, it counts as failed before its connections close, and a live member does
// not. (A leader that joined by snapshot may have counted a peer twice, and then reports
// permanently that it is connected.) A follower has no traffic with other followers, which does
// not count against them. A leader that was started after the member failed reports nothing
// about it, unless it is asked.
func TestPeersOfTheLeader(t *testing.T) {
	onEach(t, etcdtest.Versions(), func(t *testing.T, v etcdtest.Version) {
		b := etcdtest.Start(t, 3, etcdtest.Options{Version: v})
		c := clientFor(t, settings(b.Endpoints()...))
		idOf := func(p *etcdtest.Process) membership.MemberID { return membership.MemberID(b.MemberID(t, p)) }
		var leader membership.MemberID
		find := func() { // it may change on a busy machine
			if l, _, led := observe(t, c).MajorityLeader(); led {
				leader = l
			}
		}
		find()
		others := slices.Clone(b.Members())
		i := slices.IndexFunc(others, func(p *etcdtest.Process) bool { return idOf(p) != leader })
		victim, id := others[i], idOf(others[i])
		others = slices.Delete(others, i, i+1)
		mustSay := func(active bool, doubted ...membership.MemberID) {
			t.Helper()
			ctx := etcdtest.WaitContext(t)
			for {
				peers, err := c.Peers(ctx, leader, doubted)
				if seen, known := peers[id]; err == nil && known && seen == active {
					return
				}
				if ctx.Err() != nil {
					t.Fatalf("never saw %s active=%v: %v, %v", id, active, peers, err)
				}
				find()
			}
		}
		mustSay(true)
		mustSay(true, id)
		follower := idOf(others[0])
		if follower == leader {
			follower = idOf(others[1])
		}
		var peers map[membership.MemberID]bool
		var err error
		etcdtest.Until(t, "they have connected", func() bool {
			peers, err = c.Peers(etcdtest.WaitContext(t), follower, nil)
			return peers[id]
		})
		if peers, err = c.Peers(etcdtest.WaitContext(t), follower, []membership.MemberID{id}); !peers[id] || err != nil {
			t.Errorf("a follower said of another: %v, %v", peers, err)
		}
		victim.Freeze()
		mustSay(false, id)
		victim.Thaw()
		mustSay(true, id)
		victim.Kill()
		mustSay(false)
		for _, p := range others {
			p.Kill()
		}
		for _, p := range others {
			p.Start()
		}
		b.Leader(t)
		find()
		peers, err = c.Peers(etcdtest.WaitContext(t), leader, nil)
		if _, known := peers[id]; err != nil || known {
			t.Errorf("never met, and without a doubt: %v, %v", peers, err)
		}
		mustSay(false, id)
	})
}

// With a port of its own for HTTP, etcd has no metrics at its client URL, and the provider
// reads them at the URL that it is told.
func TestMetricsOfAnotherPort(t *testing.T) {
	onEach(t, etcdtest.Maintained(), func(t *testing.T, v etcdtest.Version) {
		port := etcdtest.ReservePort(t)
		b := etcdtest.Start(t, 1, etcdtest.Options{Version: v, Env: map[string]string{"ETCD_LISTEN_CLIENT_HTTP_URLS": fmt.Sprintf("http://127.0.0.1:%d", port)}})
		id, s := membership.MemberID(b.MemberID(t, b.Members()[0])), settings(b.Endpoints()...)
		c := clientFor(t, s)
		observe(t, c)
		if m, err := c.Metrics(etcdtest.WaitContext(t), id); err == nil {
			t.Errorf("at the client URL: %v", m)
		}
		s.Metrics = fmt.Sprintf("http://0.0.0.0:%d", port)
		c = clientFor(t, s)
		observe(t, c)
		if m, err := c.Metrics(etcdtest.WaitContext(t), id); err != nil || !m.leads || m.At.IsZero() {
			t.Errorf("at their URL: %v, %v", m, err)
		}
	})
}

// The leader's metrics show that it sends a snapshot to a learner that missed too much.
func TestSending(t *testing.T) {
	onEach(t, etcdtest.Maintained(), func(t *testing.T, v etcdtest.Version) {
		few := "ETCD_SNAPSHOT_CATCHUP_ENTRIES"
		if v == etcdtest.V35 {
			few = "ETCD_EXPERIMENTAL_SNAPSHOT_CATCHUP_ENTRIES"
		}
		b := etcdtest.Start(t, 1, etcdtest.Options{Version: v, Links: true, Env: map[string]string{"ETCD_SNAPSHOT_COUNT": "50", few: "10"}})
		d := b.AddLearner(t, "d")
		leader, id := membership.MemberID(b.MemberID(t, b.Members()[0])), membership.MemberID(b.MemberID(t, d))
		c := clientFor(t, settings(b.Endpoints()...))
		observe(t, c)
		sending := func() bool {
			m, err := c.Metrics(etcdtest.WaitContext(t), leader)
			return err == nil && m.Sending[id]
		}
		if sending() {
			t.Error("a snapshot before the learner missed anything")
		}
		d.Kill()
		client := b.Client(t)
		for i := range 300 {
			_, err := client.Put(etcdtest.WaitContext(t), fmt.Sprint("key", i), "value")
			must.Succeed(t, err)
		}
		d.PeerLink().Cut()
		d.Start()
		etcdtest.Until(t, "the leader sends a snapshot", sending)
		d.PeerLink().Heal()
		etcdtest.Until(t, "the leader has sent it", func() bool { return !sending() })
	})
}
