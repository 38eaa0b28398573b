// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdsim

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv2 "go.etcd.io/etcd/client/v2"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
)

// serverV2 is a server with the v2 API, real or simulated.
type serverV2 struct {
	url       string
	transport http.RoundTripper
	first     uint64 // index
}

// ask sends a request: a method, and a key with its arguments. It returns the status and
// the answer, with indexes that count from the beginning of the case.
func (s *serverV2) ask(ctx context.Context, request string) string {
	method, key, _ := strings.Cut(request, " ")
	req, err := http.NewRequestWithContext(ctx, method, s.url+prefixV2+key, http.NoBody)
	if err != nil {
		return err.Error()
	}
	resp, err := s.transport.RoundTrip(req)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	var answer struct {
		clientv2.Response
		clientv2.Error
	}
	if json.Unmarshal(body, &answer) != nil {
		return fmt.Sprintf("%d %q", resp.StatusCode, body)
	}
	index, _ := strconv.ParseUint(resp.Header.Get("X-Etcd-Index"), 10, 64)
	if s.first == 0 {
		s.first = index
	}
	out := fmt.Sprintf("%d at %d: ", resp.StatusCode, index-s.first)
	if req.URL.Query().Has("wait") { // the index is that at its beginning
		out = fmt.Sprint(resp.StatusCode, ": ")
	}
	if answer.Node == nil {
		return out + fmt.Sprintf("%d %s (%s)", answer.Code, answer.Message, answer.Cause)
	}
	out += answer.Action + " " + s.node(answer.Node)
	if answer.PrevNode != nil {
		out += " was " + s.node(answer.PrevNode)
	}
	return out
}

// node is a node with its value, the indexes of its creation and change, and ~ if it expires.
func (s *serverV2) node(n *clientv2.Node) string {
	out := n.Key
	switch {
	case n.Dir:
		out += "/"
	case n.Value != "":
		out += "=" + n.Value
	}
	if n.CreatedIndex > 0 {
		out += fmt.Sprintf(" %d.%d", n.CreatedIndex-s.first, n.ModifiedIndex-s.first)
	}
	if n.Expiration != nil && n.TTL > 0 {
		out += "~"
	}
	for _, below := range n.Nodes {
		out += " [" + s.node(below) + "]"
	}
	return out
}

// playV2 plays the requests of testdata/v2.txt. "begin" counts the indexes anew, from an
// empty store. A request with a "|" may wait for what the request after it changes.
func playV2(t *testing.T, s *serverV2) {
	datadriven.RunTest(t, "testdata/v2.txt", func(t *testing.T, d *datadriven.TestData) string {
		if d.Cmd == "begin" {
			for _, key := range []string{"a", "t", "k", "d", "w", "x"} {
				s.ask(t.Context(), "DELETE /"+key+"?recursive=true")
			}
			s.first = 0
			s.ask(t.Context(), "GET /")
			return ""
		}
		var out []string
		for line := range strings.Lines(d.Input) {
			request, later, waits := strings.Cut(strings.TrimSpace(line), " | ")
			method, args, indexed := strings.Cut(request, "waitIndex=")
			if n, err := strconv.ParseUint(args, 10, 64); indexed && err == nil {
				request = fmt.Sprint(method, "waitIndex=", n+s.first)
			}
			answer := make(chan string, 1)
			go func() { answer <- s.ask(t.Context(), request) }()
			if waits {
				s.ask(t.Context(), later)
			}
			out = append(out, strings.ReplaceAll(<-answer, fmt.Sprint("!= ", s.first+1, "]"), "!= IDX]"))
		}
		return strings.Join(append(out, ""), "\n")
	})
}

// withoutV2 asks a server that does not serve the API.
func withoutV2(t *testing.T, s *serverV2) {
	if got := s.ask(t.Context(), "GET /a"); got != `404 "404 page not found\n"` {
		t.Errorf("without --enable-v2: %s", got)
	}
}

func TestV2Real(t *testing.T) {
	t.Parallel()
	for _, v := range etcdtest.WithV2() {
		for on, play := range map[bool]func(*testing.T, *serverV2){true: playV2, false: withoutV2} {
			t.Run(fmt.Sprint(v, "/", on), func(t *testing.T) {
				t.Parallel()
				c := etcdtest.Start(t, 1, etcdtest.Options{Version: v, V2: on})
				play(t, &serverV2{url: c.Endpoints()[0], transport: &http.Transport{DisableKeepAlives: true}})
			})
		}
	}
}

func TestV2Simulated(t *testing.T) {
	t.Parallel()
	for on, play := range map[bool]func(*testing.T, *serverV2){true: playV2, false: withoutV2} {
		synctest.Test(t, func(t *testing.T) {
			n := &Network{V2: on}
			c := n.Form("3.5.35", "a")
			defer c.Processes()[0].PowerOff()
			play(t, &serverV2{url: ClientURL("a"), transport: n.Run("test").Web(ClientURL("a"))})
		})
	}
}

// TestSimulated plays scripts with what no real server can be brought to, or not soon.
func TestSimulated(t *testing.T) {
	for _, name := range []string{"sim_late", "sim_progress", "sim_wiped", "sim_moved"} {
		synctest.Test(t, func(t *testing.T) { playSimulated(t, "3.6.16", 3, scriptCase(name)) })
	}
}

// A watch that needs a leader ends without one.
func TestRequireLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &Network{}
		c := n.Form("3.6.16", "a", "b", "c")
		a := n.Run("test").Client(ClientURL("a"), ClientURL("a"))
		defer func() { _ = a.Close() }()
		watch := a.Watch(clientv3.WithRequireLeader(t.Context()), "key")
		c.Split(c.Processes()[0])
		time.Sleep(2 * electionTimeout)
		_, err := a.Put(t.Context(), "key", "") // gives up after etcd's own limit
		refused(t, err, rpctypes.ErrTimeout)
		if _, open := <-watch; open {
			t.Error("a watch without a leader")
		}
		c.Heal()
	})
}

// An initial member that has run is not started as a new one, and no other process is one.
// That initial members form a cluster is seen wherever machines boot, in package simulated.
func TestStatic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := (&Network{}).Static("token", map[string][]string{"a": {PeerURL("a")}, "b": {PeerURL("b")}})
		ok(t, err)
		a, b := c.NewProcess("a", "3.6.16"), c.NewProcess("b", "3.6.16")
		ok(t, a.StartNew())
		ok(t, b.StartNew())
		time.Sleep(2 * electionTimeout)
		b.PowerOff()
		b.Wipe()
		refused(t, b.StartNew(), errStarted)
		refused(t, c.NewProcess("d", "3.6.16").StartNew(), errUnequal)
	})
}

// The rule of the house: no mutex and no sync.Once is held across a request or a
// wait. Otherwise a bubble hangs as soon as two goroutines meet there: two watches
// of one key, two releases of one claim, the end of the process meanwhile.
func TestNothingIsHeldAcrossAWait(t *testing.T) {
	for seed := range uint64(100) {
		synctest.Test(t, func(t *testing.T) {
			n := &Network{}
			n.Form("3.6.16", "a", "b")
			s := NewScheduler(t, seed)
			s.Latency, s.Twins = 400*time.Millisecond, true // both watches ask for the same lease
			n.Before = s.Before
			pool := &connection.Pool{World: n.Run("run")}
			settings := connection.Settings{Endpoints: []string{"http://a.example:2379", "http://b.example:2379"}, Clock: s.Clock("run")}
			store := claim.NewV3(cluster.New(settings, pool), settings, pool)
			as := func(name string) context.Context { return context.WithValue(t.Context(), resourceKey{}, name) }

			watching, end := context.WithCancel(as("watch"))
			var events []string
			var wg, watch sync.WaitGroup
			watch.Go(func() {
				_ = store.Watch(watching, "/beats", 1, func(e claim.Event) { events = append(events, fmt.Sprint(e.Name, e.Kind)) })
			})
			c, err := claim.Start(as("beat"), store, settings.Time(), claim.Options{Key: "/beats/x", Value: "v", TTL: 10 * time.Second, AtExit: pool.BeforeClose})
			ok(t, err)
			time.Sleep(20 * time.Second)
			for i := range 2 {
				wg.Go(func() { _ = c.Stop(as(fmt.Sprint("stop", i))) })
			}
			wg.Go(func() { _ = c.Check(as("check")) })
			time.Sleep(time.Duration(seed) * 10 * time.Millisecond)
			wg.Go(func() { ok(t, pool.Close()) })
			wg.Wait()
			time.Sleep(20 * time.Second)
			end()
			watch.Wait()
			s.Stop()
			if len(events) < 3 || events[0] != fmt.Sprint("x", claim.Started) || !slices.ContainsFunc(events[1:], func(e string) bool { return e != fmt.Sprint("x", claim.Beaten) }) {
				t.Errorf("seed %d: events %v", seed, events)
			}
		})
	}
}

// download returns the database in a snapshot. The hash behind it must be right.
func download(tb etcdtest.TB, m member) (db []byte, version string) {
	tb.Helper()
	resp, err := m.SnapshotWithVersion(etcdtest.WaitContext(tb))
	ok(tb, err)
	all, err := io.ReadAll(resp.Snapshot)
	ok(tb, err)
	ok(tb, resp.Snapshot.Close())
	same(tb, "size of the hash", len(all)%512, sha256.Size)
	db = all[:len(all)-sha256.Size]
	same(tb, "hash", fmt.Sprintf("%x", all[len(db):]), fmt.Sprintf("%x", sha256.Sum256(db)))
	return db, resp.Version
}

// Each member sends a whole database, whether it fits into a message or not.
func snapshotCase(tb etcdtest.TB, s system) {
	ms := open(tb, s.servers...)
	saves := func(least int) {
		tb.Helper()
		for _, m := range ms {
			revision(tb, m) // so that it has applied everything
			db, version := download(tb, m)
			same(tb, "version", version, s.version.storageVersion())
			if len(db) < least {
				tb.Fatalf("the database has %d bytes, want %d and more", len(db), least)
			}
		}
	}
	saves(1)
	_, err := ms[1].Txn(etcdtest.WaitContext(tb)).Then(clientv3.OpPut("s/b", strings.Repeat("x", 100<<10)), clientv3.OpPut("s/c", "")).Commit()
	ok(tb, err)
	saves(100 << 10)
}
