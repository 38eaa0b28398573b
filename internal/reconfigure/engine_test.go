// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/clock"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// bench is a real cluster with an engine for it.
type bench struct {
	*etcdtest.Cluster
	engine *reconfigure.Engine
}

func start(t *testing.T, n int, opts etcdtest.Options) *bench {
	t.Helper()
	c := etcdtest.Start(t, n, opts)
	return &bench{c, engineFor(t, opts, c.Endpoints())}
}

func engineFor(t *testing.T, opts etcdtest.Options, endpoints []string) *reconfigure.Engine {
	t.Helper()
	s := connection.Settings{
		Endpoints:   endpoints,
		DialTimeout: connection.DefaultDialTimeout, RequestTimeout: connection.DefaultRequestTimeout,
	}
	if opts.TLS != nil {
		s.TLS = opts.TLS.ClientConfig(opts.TLS.Client("root"))
	}
	if opts.Password != "" {
		s.Username, s.Password = "root", connection.Secret(opts.Password)
	}
	pool := &connection.Pool{}
	t.Cleanup(func() { _ = pool.Close() })
	return newEngine(s, pool, "alice@ops1", claim.LockTTL)
}

// pauses counts how often an engine waits before it tries again. On a busy
// machine time passes without that.
type pauses struct {
	clock.System
	n atomic.Int32
}

func (p *pauses) Sleep(ctx context.Context, d time.Duration) error {
	p.n.Add(1)
	return p.System.Sleep(ctx, d)
}

// few is how many pauses an answer at once may have: for the turn of a queue, or
// for an election on a busy machine. A refusal in doubt has ten and more.
const few = 3

// since returns the number of pauses since its last call.
func (p *pauses) since() int { return int(p.n.Swap(0)) }

// countPauses counts the pauses of an engine and of its lock.
func countPauses(e *reconfigure.Engine) *pauses {
	p := &pauses{}
	e.Clock = p
	if lock, ok := e.Locker.(*claim.Lock); ok {
		lock.Clock = p
	}
	return p
}

// newEngine returns an engine like that of a separate provider process.
func newEngine(s connection.Settings, pool *connection.Pool, who string, ttl time.Duration) *reconfigure.Engine {
	port := cluster.New(s, pool)
	return &reconfigure.Engine{
		Cluster: port, Process: &reconfigure.ProcessState{}, Clock: clock.System{},
		Locker: &claim.Lock{
			Store: claim.NewV3(port, s, pool), TTL: ttl, Clock: clock.System{},
			Self: claim.Holder{Who: who, PID: 4711, Run: "run of " + who}, AtExit: pool.BeforeClose,
		},
	}
}

// within returns a context for a call that is to run out of time.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// limited is a context that ends when the test says so.
type limited struct {
	context.Context
	over chan struct{}
}

// Done implements context.Context.
func (l limited) Done() <-chan struct{} { return l.over }

// Err implements context.Context.
func (l limited) Err() error {
	select {
	case <-l.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// runOut gives a call twice as much time after each try, until its time runs out
// with the expected error: on a busy machine a short time is over before the call
// has come to what it waits for.
func runOut(t *testing.T, is func(error) bool, call func(context.Context) error) (err error) {
	t.Helper()
	limit := time.Second
	etcdtest.Eventually(t, "the call runs out of time with the expected error", func() error {
		limit *= 2
		if err = call(within(t, limit)); err == nil || !is(err) {
			return fmt.Errorf("within %v: %w", limit, cmp.Or(err, errors.New("no error")))
		}
		return nil
	})
	return err
}

// announce joins a member that does not start, until it is on record.
func (b *bench) announce(t *testing.T, e *reconfigure.Engine, r reconfigure.JoinRequest) {
	t.Helper()
	_ = runOut(t, func(err error) bool {
		late, ok := errors.AsType[*reconfigure.Incomplete](err)
		record, _, _ := b.engine.Cluster.Records(b.id(t)).Get(etcdtest.WaitContext(t), r.Owner)
		return ok && late.Member.ID != 0 && record.ID() == late.Member.ID
	}, func(ctx context.Context) error { _, err := e.Join(ctx, r); return err })
}

func request(p *etcdtest.Process, goal reconfigure.Stage) reconfigure.JoinRequest {
	return reconfigure.JoinRequest{
		Owner: "name:" + p.Name, Name: p.Name, PeerURLs: []string{p.PeerURL()}, Goal: goal,
	}
}

func (b *bench) members(t *testing.T) []membership.Member {
	t.Helper()
	members, _, err := b.engine.Cluster.Members(etcdtest.WaitContext(t))
	if err != nil {
		t.Fatal(err)
	}
	return members
}

func named(members []membership.Member, name string) (membership.Member, bool) {
	i := slices.IndexFunc(members, func(m membership.Member) bool { return m.Name == name })
	if i < 0 {
		return membership.Member{}, false
	}
	return members[i], true
}

func (b *bench) leaveRequest(t *testing.T, name string) reconfigure.LeaveRequest {
	t.Helper()
	m, ok := named(b.members(t), name)
	if !ok {
		t.Fatalf("no member %s", name)
	}
	snap, err := b.engine.Cluster.Observe(etcdtest.WaitContext(t), 0)
	if err != nil {
		t.Fatal(err)
	}
	return reconfigure.LeaveRequest{Owner: "name:" + name, ID: m.ID, Cluster: snap.ClusterID, Name: name, PeerURLs: m.PeerURLs}
}

func TestLeaveWithoutQuorum(t *testing.T) {
	t.Parallel()
	b := start(t, 3, etcdtest.Options{})
	r := b.leaveRequest(t, "infra1")
	b.Member("infra2").Kill()
	b.Member("infra3").Kill()
	_, err := b.engine.Leave(etcdtest.WaitContext(t), r)
	var refused *reconfigure.Refusal
	if !errors.As(err, &refused) || refused.Decision.Code != membership.QuorumLost {
		t.Fatalf("leaving without quorum: %v", err)
	}
	for _, stated := range []reconfigure.Statement{
		{}, {Cluster: r.Cluster + 1, Gone: []string{"infra2", "infra3"}}, {Cluster: r.Cluster, Gone: []string{"infra2"}}, {Cluster: r.Cluster, Gone: []string{"infra2", "infra3"}},
	} {
		r.Forget, b.engine.Lost = true, stated
		left, err := b.engine.Leave(etcdtest.WaitContext(t), r)
		kept, refused := errors.AsType[*reconfigure.NotGivenUp](err)
		if lost := stated.Cluster == r.Cluster && len(stated.Gone) == 2; lost != (err == nil && left.Forgotten != nil) || !lost && (!refused || kept.Decision.Code != membership.NotStated) {
			t.Errorf("%+v is stated, the cluster is %s: %+v, %v", stated, r.Cluster, left, err)
		}
	}
}

// The backstop removes only what the record says.
func TestWithdraw(t *testing.T) {
	t.Parallel()
	b := start(t, 1, etcdtest.Options{})
	d := b.NewJoiner(t, "d")
	if _, err := b.engine.Join(etcdtest.WaitContext(t), request(d, reconfigure.Announced)); err != nil {
		t.Fatal(err)
	}
	if _, err := b.engine.Withdraw(etcdtest.WaitContext(t), reconfigure.WithdrawRequest{Owner: "someone-else", Name: "d"}); err != nil {
		t.Fatal(err)
	}
	if m := b.members(t); len(m) != 2 {
		t.Fatalf("%d members after somebody else's withdrawal, want 2", len(m))
	}
	if _, err := b.engine.Withdraw(etcdtest.WaitContext(t), reconfigure.WithdrawRequest{Owner: "name:d", Name: "d"}); err != nil {
		t.Fatal(err)
	}
	if m := b.members(t); len(m) != 1 {
		t.Errorf("%d members after the withdrawal, want 1", len(m))
	}
	if _, ok, err := b.engine.Cluster.Records(b.id(t)).Get(etcdtest.WaitContext(t), "name:d"); ok || err != nil {
		t.Errorf("the record is still there: %v, %v", ok, err)
	}
}
