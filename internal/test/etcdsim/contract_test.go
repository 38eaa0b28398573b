// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdsim

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
)

// The contract suite: each case states what etcd answers, and holds on real etcd of
// every version and on the simulated one. A case waits for events without a limit of
// its own, and states only what no pause of a machine changes. Requests and their answers
// stand in testdata; what has to wait or to stop servers is a function.

// server is an etcd process, real or simulated.
type server interface {
	ClientURL() string
	PeerURL() string
	Client(etcdtest.TB) *clientv3.Client // of this server only
	conn(etcdtest.TB) grpc.ClientConnInterface
	web() http.RoundTripper
	Start()
	PowerOff()
	Freeze()
	Thaw()
}

// system is a cluster of servers, real or simulated.
type system struct {
	servers []server
	joiner  func(tb etcdtest.TB, name string) server // neither added nor started
	split   func(server)                             // from all others
	heal    func()
	began   time.Time // before the servers were started
	version Version
	minTTL  int64 // of a lease, in seconds
}

// contract is a case.
type contract struct {
	name string
	run  func(etcdtest.TB, system)
}

// groups are clusters, each with the cases that run on it one after the other.
var groups = []struct {
	name    string
	members int
	links   bool
	cases   []contract
}{
	{"three", 3, false, []contract{
		{"health interval", healthIntervalCase},
		scriptCase("members"),
		{"one second", oneSecondCase},
		scriptCase("keys"),
		scriptCase("transactions"),
		scriptCase("leases"),
		{"expiry", expiryCase},
		scriptCase("watches"),
		{"status", statusCase},
		{"snapshots", snapshotCase},
		scriptCase("alarms"),
		scriptCase("learner"),
		scriptCase("leadership"),
		scriptCase("peers"), // the last, because it costs the quorum
	}},
	{"four", 4, false, []contract{
		scriptCase("removed"),
		scriptCase("down"),
	}},
	{"one", 1, false, []contract{scriptCase("dead")}},
	{"users", 3, false, []contract{scriptCase("users"), scriptCase("permissions"), scriptCase("tokens"), scriptCase("downgrade")}},
	{"links", 3, true, []contract{scriptCase("split")}},
}

// names are those of the initial members.
var names = []string{"a", "b", "c", "d"}

// versions are the releases that the suite runs on; tools/ builds them.
var versions = map[etcdtest.Version]Version{etcdtest.V35: "3.5.35", etcdtest.V36: "3.6.16", etcdtest.V37: "3.7.3"}

type realServer struct{ *etcdtest.Process }

func (s realServer) conn(tb etcdtest.TB) grpc.ClientConnInterface {
	return s.Client(tb).ActiveConnection()
}
func (realServer) web() http.RoundTripper { return &http.Transport{DisableKeepAlives: true} }

func TestContractReal(t *testing.T) {
	t.Parallel()
	for minor, version := range versions {
		for _, g := range groups {
			t.Run(fmt.Sprint(minor, "/", g.name), func(t *testing.T) {
				t.Parallel()
				began := time.Now()
				// A leader must not change because the machine is busy, and "store" must not take long.
				c := etcdtest.Start(t, g.members, etcdtest.Options{
					Version: minor, Names: names[:g.members], Links: g.links,
					Env: map[string]string{"ETCD_HEARTBEAT_INTERVAL": "300", "ETCD_ELECTION_TIMEOUT": "3000", "ETCD_SNAPSHOT_COUNT": "10"},
				})
				s := system{
					joiner: func(tb etcdtest.TB, name string) server { return realServer{c.NewJoiner(tb, name)} },
					split:  func(one server) { c.Split(one.(realServer).Process) }, heal: c.Heal,
					began: began, version: version, minTTL: 5, // one and a half election timeouts
				}
				for _, p := range c.Members() {
					s.servers = append(s.servers, realServer{p})
				}
				for _, k := range g.cases {
					t.Run(k.name, func(t *testing.T) { k.run(t, s) })
				}
			})
		}
	}
}

// simServer is a simulated server in a test.
type simServer struct {
	*Process
	etcdtest.TB
}

func (s simServer) ClientURL() string      { return s.Process.ClientURL }
func (s simServer) PeerURL() string        { return s.Process.PeerURL }
func (s simServer) Start()                 { ok(s.TB, s.Process.Start()) }
func (s simServer) web() http.RoundTripper { return s.c.n.Run("test").Web(s.ClientURL()) }
func (s simServer) Client(etcdtest.TB) *clientv3.Client {
	c := s.c.n.Run("test").Client(s.ClientURL(), s.ClientURL())
	s.Cleanup(func() { _ = c.Close() })
	return c
}
func (s simServer) conn(etcdtest.TB) grpc.ClientConnInterface {
	return s.c.n.Run("test").Conn(s.ClientURL())
}

func TestContractSimulated(t *testing.T) {
	t.Parallel()
	for _, version := range versions {
		for _, g := range groups {
			t.Run(fmt.Sprint(version, "/", g.name), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					playSimulated(t, version, g.members, g.cases...)
				})
			})
		}
	}
}

func playSimulated(t *testing.T, version Version, members int, cases ...contract) {
	began := time.Now()
	c := (&Network{}).Form(version, names[:members]...)
	s := system{
		joiner: func(_ etcdtest.TB, name string) server { return simServer{c.NewProcess(name, version), t} },
		split:  func(one server) { c.Split(one.(simServer).Process) }, heal: c.Heal,
		began: began, version: version, minTTL: 2,
	}
	for _, p := range c.Processes() {
		s.servers = append(s.servers, simServer{p, t})
	}
	for _, k := range cases {
		t.Log(k.name)
		k.run(t, s)
	}
	for _, p := range c.Processes() {
		p.PowerOff()
	}
}
