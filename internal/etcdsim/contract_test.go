// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdsim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// The contract suite: each case states what etcd answers, and holds on real etcd of
// every version and on the simulated one. A case waits for events without a limit of
// its own, and states only what no pause of a machine changes.

// server is an etcd process, real or simulated.
type server interface {
	url() string
	peerURL() string
	client(etcdtest.TB) *clientv3.Client // of this server only
	maintenance(etcdtest.TB) pb.MaintenanceClient
	metrics() (string, error)
	start(etcdtest.TB)
	powerOff()
	freeze()
	thaw()
}

// system is a cluster of servers, real or simulated.
type system interface {
	servers() []server
	joiner(tb etcdtest.TB, name string) server // neither added nor started
	split(server)                              // from all others
	heal()
	began() time.Time // before the servers were started
	version() Version
	minTTL() int64 // of a lease, in seconds
}

// group is a cluster, and the cases that run on it one after the other.
type group struct {
	name    string
	members int
	links   bool
	cases   []contract
}

type contract struct {
	name string
	run  func(etcdtest.TB, system)
}

var groups = []group{
	{"three", 3, false, []contract{
		{"health interval", healthIntervalCase},
		{"members", membersCase},
		{"one second", oneSecondCase},
		{"keys", keysCase},
		{"transactions", txnCase},
		{"leases", leasesCase},
		{"expiry", expiryCase},
		{"watches", watchCase},
		{"compaction", compactCase},
		{"status", statusCase},
		{"headers", headersCase},
		{"snapshots", snapshotCase},
		{"alarms", alarmsCase},
		{"learner", learnerCase},
		{"leadership", leadershipCase},
		{"frozen", frozenCase},
		{"peer URLs", peerURLsCase}, // the last, because it costs the quorum
	}},
	{"four", 4, false, []contract{
		{"the leader is removed", removedLeaderCase},
		{"a voter is down", downCase},
	}},
	{"one", 1, false, []contract{{"a dead learner is promoted", deadLearnerCase}}},
	{"users", 3, false, []contract{{"users", usersCase}, {"permissions", permissionsCase}, {"tokens", tokensCase}, {"downgrade", downgradeCase}}},
	{"links", 3, true, []contract{{"the leader is cut off", splitCase}}},
}

// versions are the releases that the suite runs on; tools/ builds them.
var versions = map[etcdtest.Version]Version{etcdtest.V35: "3.5.35", etcdtest.V36: "3.6.16", etcdtest.V37: "3.7.3"}

// Real etcd.

type realServer struct{ *etcdtest.Process }

func (s realServer) url() string                            { return s.ClientURL() }
func (s realServer) peerURL() string                        { return s.PeerURL() }
func (s realServer) client(tb etcdtest.TB) *clientv3.Client { return s.Client(tb) }
func (s realServer) maintenance(tb etcdtest.TB) pb.MaintenanceClient {
	return pb.NewMaintenanceClient(s.Client(tb).ActiveConnection())
}
func (s realServer) powerOff()         { s.PowerOff() }
func (s realServer) freeze()           { s.Freeze() }
func (s realServer) thaw()             { s.Thaw() }
func (s realServer) start(etcdtest.TB) { s.Start() }
func (s realServer) metrics() (string, error) {
	resp, err := http.Get(s.ClientURL() + "/metrics")
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

type realSystem struct {
	*etcdtest.Cluster
	at time.Time
	v  Version
}

func (s realSystem) servers() (out []server) {
	for _, p := range s.Members() {
		out = append(out, realServer{p})
	}
	return out
}
func (s realSystem) joiner(tb etcdtest.TB, name string) server {
	return realServer{s.NewJoiner(tb, name)}
}
func (s realSystem) split(one server) { s.Split(one.(realServer).Process) }
func (s realSystem) heal()            { s.Heal() }
func (s realSystem) began() time.Time { return s.at }
func (s realSystem) minTTL() int64    { return 5 } // one and a half election timeouts
func (s realSystem) version() Version { return s.v }

func TestContractReal(t *testing.T) {
	t.Parallel()
	for minor, version := range versions {
		for _, g := range groups {
			t.Run(fmt.Sprint(minor, "/", g.name), func(t *testing.T) {
				t.Parallel()
				at := time.Now()
				// A leader must not change because the machine is busy.
				c := etcdtest.Start(t, g.members, etcdtest.Options{Version: minor, Links: g.links, Env: map[string]string{"ETCD_HEARTBEAT_INTERVAL": "300", "ETCD_ELECTION_TIMEOUT": "3000"}})
				for _, k := range g.cases {
					t.Run(k.name, func(t *testing.T) { k.run(t, realSystem{c, at, version}) })
				}
			})
		}
	}
}

// Simulated etcd.

type simSystem struct {
	c    *Cluster
	at   time.Time
	v    Version
	grpc bool
}

type simServer struct {
	*Process
	s simSystem
}

func (s simServer) url() string     { return s.ClientURL }
func (s simServer) peerURL() string { return s.PeerURL }
func (s simServer) start(tb etcdtest.TB) {
	if err := s.Start(); err != nil {
		tb.Fatalf("%s: %v", s.Name, err)
	}
}
func (s simServer) powerOff() { s.PowerOff() }
func (s simServer) freeze()   { s.Freeze() }
func (s simServer) thaw()     { s.Thaw() }
func (s simServer) metrics() (string, error) {
	req, err := http.NewRequest(http.MethodGet, s.ClientURL+"/metrics", nil)
	if err != nil {
		return "", err
	}
	resp, err := s.c.n.Run("test").Web(s.ClientURL).RoundTrip(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

func (s simServer) client(tb etcdtest.TB) *clientv3.Client {
	run := s.c.n.Run("test")
	if !s.s.grpc {
		c := run.Client(s.ClientURL, s.ClientURL)
		tb.Cleanup(func() { _ = c.Close() })
		return c
	}
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{s.ClientURL}, Logger: zap.NewNop(), DialOptions: []grpc.DialOption{
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return run.Dial(ctx, s.ClientURL) }),
	}})
	if err != nil {
		tb.Fatalf("%v", err)
	}
	c.Watcher = watcher{pb.NewWatchClient(c.ActiveConnection())}
	tb.Cleanup(func() { _ = c.Close() })
	return c
}

func (s simServer) maintenance(tb etcdtest.TB) pb.MaintenanceClient {
	if s.s.grpc {
		return pb.NewMaintenanceClient(s.client(tb).ActiveConnection())
	}
	return pb.NewMaintenanceClient(s.c.n.Run("test").Conn(s.ClientURL))
}

func (s simSystem) servers() (out []server) {
	for _, p := range s.c.processes[:len(s.c.initial)] {
		out = append(out, simServer{p, s})
	}
	return out
}
func (s simSystem) joiner(_ etcdtest.TB, name string) server {
	return simServer{s.c.NewProcess(name, s.v), s}
}
func (s simSystem) split(one server) { s.c.Split(one.(simServer).Process) }
func (s simSystem) heal()            { s.c.Heal() }
func (s simSystem) began() time.Time { return s.at }
func (s simSystem) minTTL() int64    { return 2 }
func (s simSystem) version() Version { return s.v }

// trial is a test of one case whose failure is an answer.
type trial struct {
	testing.TB
	failure  error
	cleanups []func()
}

func (c *trial) Logf(string, ...any) {}

func (c *trial) Fatalf(format string, args ...any) {
	c.failure = errors.Join(c.failure, fmt.Errorf(format, args...))
	runtime.Goexit()
}

func (c *trial) Failed() bool { return c.failure != nil }

func (c *trial) Cleanup(f func()) { c.cleanups = append(c.cleanups, f) }

func (c *trial) cleanup() {
	if p := recover(); p != nil {
		c.failure = fmt.Errorf("%v", p)
	}
	for _, f := range slices.Backward(c.cleanups) {
		f()
	}
}

// simulate runs a group on a simulated cluster, until a case fails.
func simulate(t testing.TB, n *Network, v Version, g group, overGRPC bool) (failed error) {
	at := time.Now()
	s := simSystem{n.Form(v, []string{"a", "b", "c", "d"}[:g.members]...), at, v, overGRPC}
	for _, k := range g.cases {
		c := &trial{TB: t}
		done := make(chan struct{})
		go func() { // which Fatalf can end
			defer close(done)
			defer c.cleanup()
			k.run(c, s)
		}()
		<-done
		if c.failure != nil {
			failed = fmt.Errorf("%s: %w", k.name, c.failure)
			break
		}
	}
	for _, p := range s.c.processes {
		p.PowerOff()
	}
	return failed
}

func TestContractSimulated(t *testing.T) {
	t.Parallel()
	for _, version := range versions {
		for _, g := range groups {
			for name, overGRPC := range map[string]bool{"direct": false, "grpc": true} {
				if overGRPC && version != "3.6.16" {
					continue // that would be the same again
				}
				t.Run(fmt.Sprint(version, "/", g.name, "/", name), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						if err := simulate(t, &Network{}, version, g, overGRPC); err != nil {
							t.Error(err)
						}
					})
				})
			}
		}
	}
}
