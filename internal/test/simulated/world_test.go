// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package simulated tests what the whole provider does, behind its protocol server,
// in a simulated world: package etcdsim is the cluster and the order of events,
// package driver is Terraform.
package simulated

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/clock"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdsim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// TestMain collects garbage seldom: a simulation keeps little for long. A provider that is
// served writes no log.
func TestMain(m *testing.M) {
	debug.SetGCPercent(1000)
	acctest.Silence()
	os.Exit(m.Run())
}

// release is the etcd of these tests. What versions answer differently is tested in
// package etcdsim.
const release = etcdsim.Version("3.6.16")

// judge is a test, or keeps what would fail it.
type judge struct {
	*testing.T
	// keeps says that findings are kept, and end the simulation.
	keeps    bool
	findings []string
}

// ended is what ends a simulation that keeps its findings.
type ended struct{}

func (j *judge) Errorf(format string, args ...any) {
	if j.Helper(); !j.keeps {
		j.T.Errorf(format, args...)
	}
	j.findings = append(j.findings, fmt.Sprintf(format, args...))
}

func (j *judge) Fatalf(format string, args ...any) {
	if j.Helper(); !j.keeps {
		j.T.Fatalf(format, args...)
	}
	j.findings = append(j.findings, fmt.Sprintf(format, args...))
	panic(ended{})
}

func (j *judge) Fatal(args ...any) { j.Helper(); j.Fatalf("%s", fmt.Sprintln(args...)) }

// world is a simulated cluster, and the runs of Terraform that work on it.
type world struct {
	*judge
	network  *etcdsim.Network
	cluster  *etcdsim.Cluster
	schedule *etcdsim.Scheduler
	seed     uint64
	members  map[string]*etcdsim.Process
	// calls counts the requests of all runs. each is called for each of them, when
	// its turn has come and before it is carried out.
	calls int
	each  func(run string) error
	// called is called before each call of the protocol, unless it is nil.
	called func(method string)
	env    map[string]string
	// skew is how much the clock of the machine that runs Terraform is ahead.
	skew time.Duration

	mu   sync.Mutex
	runs map[string]int
	// pool holds the connections of the last process that started.
	pool *connection.Pool
}

// simulate runs f in a bubble, in a world with a healthy cluster of these names, or
// with none. The same seed gives the same world.
func simulate(t *testing.T, seed uint64, names string, f func(w *world)) {
	t.Helper()
	try(t, seed, names, false, f)
}

// try is simulate, and may return the findings in place of failing the test.
func try(t *testing.T, seed uint64, names string, keeps bool, f func(w *world)) (findings []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		j := &judge{T: t, keeps: keeps}
		defer func() {
			findings = j.findings
			if r := recover(); r != nil && r != (ended{}) {
				panic(r)
			}
		}()
		w := &world{
			judge: j, network: &etcdsim.Network{}, seed: seed, members: map[string]*etcdsim.Process{},
			env: map[string]string{}, runs: map[string]int{},
		}
		if names != "" {
			w.cluster = w.network.Form(release, strings.Fields(names)...)
			for _, p := range w.cluster.Processes() {
				w.members[p.Name] = p
			}
		}
		w.schedule = etcdsim.NewScheduler(w, seed)
		defer w.schedule.Stop()
		w.network.Before = func(ctx context.Context, c etcdsim.Call) error {
			err := w.schedule.Before(ctx, c)
			if w.calls++; err == nil && w.each != nil {
				err = w.each(c.Run)
			}
			return err
		}
		time.Sleep(10 * time.Second) // a fresh cluster does not count as healthy
		f(w)
	})
	return findings
}

// start returns what starts the provider processes of a run of that name.
func (w *world) start(run string) driver.Start {
	return func(context.Context) (*driver.Run, error) {
		w.mu.Lock()
		w.runs[run]++
		name := fmt.Sprintf("%s.%d", run, w.runs[run])
		pool := &connection.Pool{World: w.network.Run(name)}
		w.pool = pool
		w.mu.Unlock()
		seed := fnv.New64a()
		_, _ = seed.Write([]byte(name))
		r := &backend.Run{
			Clock:  skewed{w.schedule.Clock(name), w.skew},
			Getenv: func(name string) string { return w.env[name] },
			Random: random{rand.New(rand.NewPCG(seed.Sum64(), 0))},
			Self:   func() claim.Holder { return claim.Holder{Who: name, PID: 1, Run: name} },
		}
		return &driver.Run{
			Name: name, Server: provider.Server(provider.New("test", pool, r)),
			Close: func() { _ = pool.Close() },
			Context: func(ctx context.Context, resource, method string) (context.Context, error) {
				if w.called != nil {
					w.called(method)
				}
				return w.schedule.Context(ctx, name, resource, method)
			},
		}, nil
	}
}

// skewed is a clock that shows another time.
type skewed struct {
	clock.Clock
	by time.Duration
}

func (s skewed) Now() time.Time { return s.Clock.Now().Add(s.by) }

// random is a source of numbers as a source of bytes.
type random struct{ *rand.Rand }

func (r random) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(r.Uint32())
	}
	return len(p), nil
}

// rest lets time pass. What others did in the meantime happened before its end.
func (w *world) rest(d time.Duration) { _ = w.schedule.Clock("test").Sleep(w.Context(), d) }

// provider are the arguments of a provider block for the members of these names.
func (w *world) provider(names string) driver.Values {
	var endpoints []any
	for _, name := range strings.Fields(names) {
		endpoints = append(endpoints, etcdsim.ClientURL(name))
	}
	return driver.Values{"endpoints": endpoints}
}

// member is an etcd_member with a name and peer URLs.
func member(name string) driver.Resource {
	return driver.Resource{Type: "etcd_member", Name: name, Values: driver.Values{"name": name, "peer_urls": []any{etcdsim.PeerURL(name)}}}
}

func members(names string) (out []driver.Resource) {
	for _, name := range strings.Fields(names) {
		out = append(out, member(name))
	}
	return out
}

// adopt returns a workspace that manages the members of the cluster of these names.
func (w *world) adopt(names string) *driver.Workspace {
	w.Helper()
	ws := driver.New(w, w.provider(names), members(names)...)
	for _, name := range strings.Fields(names) {
		w.ok(ws.Import(w.Context(), w.start("import"), "etcd_member."+name, name))
	}
	for _, r := range ws.Resources {
		r.Values["peer_urls"] = []any{w.listed(r.Name)}
	}
	_, r := ws.Up(w.Context(), w.start("imported")) // which stores the members
	w.ok(r)
	ws.Resources = members(names)
	return ws
}

func (w *world) ok(r driver.Result) {
	w.Helper()
	w.must(r.Err())
}

// list is the names of the members, sorted, with learners in brackets. A member that
// has not started is its peer URL.
func (w *world) list() string {
	var out []string
	for _, m := range w.cluster.Members() {
		name := m.Name
		if name == "" {
			name = m.PeerURLs[0]
		}
		if m.IsLearner {
			name = "(" + name + ")"
		}
		out = append(out, name)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// client is a client of one member, without the provider. It may do everything.
func (w *world) client(name string) *clientv3.Client {
	p := w.members[name]
	return w.network.Run("etcdctl").As("root").Client(p.ClientURL, p.ClientURL)
}

// expect compares what a test has found with what it expects.
func (w *world) expect(what string, got, want any) {
	w.Helper()
	if g, e := fmt.Sprint(got), fmt.Sprint(want); g != e {
		w.Errorf("%s: %s, want %s", what, g, e)
	}
}

// check fails the test unless something is so, and like unless a text matches a pattern.
func (w *world) check(is bool, otherwise string, args ...any) {
	if w.Helper(); !is {
		w.Errorf(otherwise, args...)
	}
}

func (w *world) like(what, got, pattern string) {
	w.Helper()
	w.check(regexp.MustCompile(pattern).MatchString(got), "%s: %s, want %s", what, got, pattern)
}

// all does something to all processes of the cluster.
func (w *world) all(do func(p *etcdsim.Process)) {
	for _, p := range w.cluster.Processes() {
		do(p)
	}
}

// errOf is the error of an answer that is of no interest.
func errOf[T any](_ T, err error) error { return err }

// must fails the test if there is an error.
func (w *world) must(errs ...error) {
	w.Helper()
	must.Succeed(w, errors.Join(errs...))
}

// keys are the keys in the cluster.
func (w *world) keys() (out []string) {
	for _, p := range w.cluster.Processes() {
		c := w.network.Run("test").As("root").Client(p.ClientURL, p.ClientURL)
		if all, err := c.Get(w.Context(), "", clientv3.WithPrefix(), clientv3.WithSerializable()); err == nil {
			for _, kv := range all.Kvs {
				out = append(out, string(kv.Key))
			}
			return out
		}
	}
	return nil
}

var errKilled = errors.New("the process was killed")
