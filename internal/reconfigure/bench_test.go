// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/clock"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdsim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// release is the etcd of these tests. What versions answer differently is tested in
// package etcdsim.
const release = etcdsim.Version("3.6.16")

// bench is a simulated cluster in virtual time, and an engine for it.
type bench struct {
	*testing.T
	*etcdsim.Cluster
	net     *etcdsim.Network
	members map[string]*etcdsim.Process
	engine  *Engine

	mu sync.Mutex
	// calls are the requests of all engines, and what they do with their locks.
	calls []call
	// each is called before each request of an engine is carried out. Its error is the
	// answer, and the request is then not carried out.
	each func(etcdsim.Call) error
}

// call is a request of an engine, by the name of its method, or what it does with its lock:
// "lock" and "check".
type call struct {
	run, what string
	at        time.Time
	limit     time.Duration // the time that the request has
}

// simulate runs f in virtual time with a healthy cluster of these names, the first of which
// leads.
func simulate(t *testing.T, names string, f func(b *bench)) {
	t.Helper()
	simulateOn(t, &etcdsim.Network{}, names, f)
}

// each is [simulate] for one of several cases.
func each(t *testing.T, name, names string, f func(b *bench)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { simulate(t, names, f) })
}

func simulateOn(t *testing.T, net *etcdsim.Network, names string, f func(b *bench)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &bench{T: t, net: net, members: map[string]*etcdsim.Process{}}
		net.Before = b.before
		b.Cluster = net.Form(release, strings.Fields(names)...)
		for _, p := range b.Processes() {
			b.members[p.Name] = p
		}
		time.Sleep(10 * time.Second) // a fresh cluster does not count as healthy
		b.engine = b.process("alice@ops1")
		f(b)
	})
}

func (b *bench) before(ctx context.Context, c etcdsim.Call) error {
	if c.Run == "test" || c.Late {
		return nil
	}
	var limit time.Duration
	if end, limited := ctx.Deadline(); limited {
		limit = time.Until(end)
	}
	b.note(call{run: c.Run, what: path.Base(c.Method), limit: limit})
	if b.each != nil {
		return b.each(c)
	}
	return nil
}

func (b *bench) note(c call) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c.at = time.Now()
	b.calls = append(b.calls, c)
}

// made returns the calls with one of these names, and forgets all.
func (b *bench) made(names ...string) []call {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := slices.DeleteFunc(b.calls, func(c call) bool { return !slices.Contains(names, c.what) })
	b.calls = nil
	return out
}

// process returns an engine that shares nothing with others, as another provider process.
func (b *bench) process(who string) *Engine {
	var endpoints []string
	for _, p := range b.Processes() {
		endpoints = append(endpoints, p.ClientURL)
	}
	return b.processAt(who, endpoints...)
}

func (b *bench) processAt(who string, endpoints ...string) *Engine {
	pool := &connection.Pool{World: b.net.Run(who)}
	b.Cleanup(func() { _ = pool.Close() })
	s := connection.Settings{Endpoints: endpoints, RequestTimeout: connection.DefaultRequestTimeout}
	port := cluster.New(s, pool)
	return &Engine{
		Cluster: port, Process: &ProcessState{}, Clock: clock.System{}, Changed: func() {},
		Locker: notedLocker{b, who, &claim.Lock{
			Store: claim.NewV3(port, s, pool), Clock: clock.System{},
			Self: claim.Holder{Who: who, PID: 4711, Run: "run of " + who}, AtExit: pool.BeforeClose,
		}},
	}
}

// notedLocker notes what is done with a lock.
type notedLocker struct {
	b   *bench
	who string
	*claim.Lock
}

// Acquire implements [Locker].
func (l notedLocker) Acquire(ctx context.Context, id membership.ClusterID, doing string, waiting func(claim.Holder)) (claim.Hold, error) {
	h, err := l.Lock.Acquire(ctx, id, doing, waiting)
	if err != nil {
		return nil, err
	}
	l.b.note(call{run: l.who, what: "lock"})
	return notedHold{h, l}, nil
}

type notedHold struct {
	claim.Hold
	lock notedLocker
}

// Check implements [claim.Hold].
func (h notedHold) Check(ctx context.Context) error {
	err := h.Hold.Check(ctx)
	h.lock.b.note(call{run: h.lock.who, what: "check"})
	return err
}

// boot starts the process of a new member as soon as its member is added, as a machine does.
func (b *bench) boot(name string) *etcdsim.Process {
	p := b.NewProcess(name, release)
	b.members[name] = p
	go func() {
		for p.Start() != nil && (clock.System{}).Sleep(b.Context(), 100*time.Millisecond) == nil {
		}
	}()
	return p
}

// altered is a cluster whose observations are altered for some time.
type altered struct {
	cluster.Cluster
	until time.Time
	alter func(*membership.Snapshot)
}

func (a altered) Observe(ctx context.Context, want membership.ClusterID) (membership.Snapshot, error) {
	s, err := a.Cluster.Observe(ctx, want)
	if time.Now().Before(a.until) {
		a.alter(&s)
	}
	return s, err
}

// alter alters what the engine observes.
func (b *bench) alter(until time.Time, alter func(*membership.Snapshot)) {
	b.engine.Cluster = altered{b.engine.Cluster, until, alter}
}

// within returns a context that ends after d.
func (b *bench) within(d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(b.Context(), d)
	b.Cleanup(cancel)
	return ctx
}

// ok fails the test at once because of the error.
func (b *bench) ok(err error) {
	b.Helper()
	must.Succeed(b, err)
}

func request(name string, goal Stage) JoinRequest {
	return JoinRequest{Owner: "name:" + name, Name: name, PeerURLs: []string{etcdsim.PeerURL(name)}, Goal: goal}
}

// join joins a member, which must succeed.
func (b *bench) join(r JoinRequest) Joined {
	b.Helper()
	out, err := b.engine.Join(b.Context(), r)
	b.ok(err)
	return out
}

// leave removes a member, which must succeed.
func (b *bench) leave(r RemoveRequest) Removed {
	b.Helper()
	out, err := b.engine.Remove(b.Context(), r)
	b.ok(err)
	return out
}

// observed returns what an observer of its own sees.
func (b *bench) observed() membership.Snapshot {
	b.Helper()
	snap, err := b.process("test").Cluster.Observe(b.Context(), 0)
	b.ok(err)
	return snap
}

// member returns the member of that name, or else with the peer URL of that name.
func (b *bench) member(name string) membership.Member {
	b.Helper()
	for _, m := range b.observed().Members {
		if m.Name == name || m.Name == "" && m.PeerURLs[0] == etcdsim.PeerURL(name) {
			return m
		}
	}
	b.Fatalf("no member %s", name)
	return membership.Member{}
}

// leaving returns the request to remove a member.
func (b *bench) leaving(name string) RemoveRequest {
	b.Helper()
	m := b.member(name)
	return RemoveRequest{Owner: "name:" + name, ID: m.ID, Cluster: b.observed().ClusterID, Name: name, PeerURLs: m.PeerURLs}
}

// replacing returns the request to remove a member that a successor follows.
func (b *bench) replacing(name string) RemoveRequest {
	b.Helper()
	r := b.leaving(name)
	r.Replacement = true
	return r
}

// mustList fails the test unless these are the members, sorted, with learners in brackets. A
// member that has not started is a question mark.
func (b *bench) mustList(want string) {
	b.Helper()
	var got []string
	for _, m := range b.Members() {
		name := m.Name
		if name == "" {
			name = "?"
		}
		if m.IsLearner {
			name = "(" + name + ")"
		}
		got = append(got, name)
	}
	slices.Sort(got)
	if strings.Join(got, " ") != want {
		b.Errorf("the members are %q, want %q", got, want)
	}
}

// mustOwn fails the test unless these are all owners on record, sorted.
func (b *bench) mustOwn(want string) {
	b.Helper()
	all, _, err := b.process("test").Cluster.Records(b.observed().ClusterID).List(b.Context())
	b.ok(err)
	var got []string
	for _, r := range all {
		got = append(got, r.Owner)
	}
	slices.Sort(got)
	if strings.Join(got, " ") != want {
		b.Errorf("on record are %q, want %q", got, want)
	}
}

// client returns a client of a living member.
func (b *bench) client() *clientv3.Client {
	for _, p := range b.Processes() {
		c := b.net.Run("test").Client(p.ClientURL, p.ClientURL)
		if _, err := c.Get(b.within(time.Second), "x"); err == nil {
			return c
		}
	}
	b.Fatal("no member answers")
	return nil
}

// key returns the key of the provider's metadata of that name.
func (b *bench) key(name string) string {
	b.Helper()
	return membership.MetadataPrefix + b.observed().ClusterID.String() + "/" + name
}

// put writes a value of the provider's metadata, and returns its key.
func (b *bench) put(name, value string) string {
	b.Helper()
	_, err := b.client().Put(b.Context(), b.key(name), value)
	b.ok(err)
	return b.key(name)
}

// delete deletes a value of the provider's metadata.
func (b *bench) delete(name string) {
	b.Helper()
	_, err := b.client().Delete(b.Context(), b.key(name))
	b.ok(err)
}

// value returns a value of the provider's metadata, "" if there is none.
func (b *bench) value(name string) string {
	b.Helper()
	got, err := b.client().Get(b.Context(), b.key(name))
	b.ok(err)
	for _, kv := range got.Kvs {
		return string(kv.Value)
	}
	return ""
}

// mustRefuse fails the test unless the error is a refusal with this code.
func (b *bench) mustRefuse(what string, err error, code membership.Code) {
	b.Helper()
	if r, ok := errors.AsType[*Refusal](err); !ok || r.Decision.Code != code {
		b.Errorf("%s: %v, want %q", what, err, code)
	}
}

// mustNotIdentify fails the test unless a join was refused for another member with this code.
func (b *bench) mustNotIdentify(what string, err error, code membership.Code) {
	b.Helper()
	if u, ok := errors.AsType[*Unidentified](err); !ok || u.Identity.Code != code {
		b.Errorf("%s: %v, want %q", what, err, code)
	}
}
