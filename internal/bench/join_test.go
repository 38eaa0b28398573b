// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package bench_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/bench"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// healthInterval is how long etcd wants its peers to have been connected
// before it calls them healthy.
const healthInterval = 5 * time.Second

// engineFor is an engine as a provider process of its own has it: with no
// connection open yet.
func engineFor(t *testing.T, endpoints []string) *reconfigure.Engine {
	t.Helper()
	s := connection.Settings{
		Endpoints: endpoints, MetadataPrefix: connection.DefaultMetadataPrefix,
		DialTimeout: connection.DefaultDialTimeout, RequestTimeout: connection.DefaultRequestTimeout,
	}
	pool := &connection.Pool{}
	t.Cleanup(func() { _ = pool.Close() })
	port := cluster.New(s, pool)
	return &reconfigure.Engine{
		Port: port, Board: reconfigure.NewBoard(), Clock: reconfigure.SystemClock{},
		Locker: &claim.Lock{
			Store: claim.NewV3(port, s, pool), Key: s.MetadataPrefix + "lock", TTL: claim.LockTTL, Clock: reconfigure.SystemClock{},
			Self: claim.Holder{Who: "bench", Run: t.Name()}, AtExit: pool.BeforeClose,
		},
	}
}

// joiner brings the member that p is to be into the cluster.
type joiner struct {
	name string
	goal bench.Goal
	join func(t *testing.T, c *etcdtest.Cluster, p *etcdtest.Process)
}

// engineJoins is what the provider does.
func engineJoins(t *testing.T, c *etcdtest.Cluster, p *etcdtest.Process) {
	t.Helper()
	_, err := engineFor(t, c.Endpoints()).Join(within(t, limit), reconfigure.JoinRequest{
		Owner: "name:" + p.Name, Name: p.Name, PeerURLs: []string{p.PeerURL()},
		Goal: reconfigure.Voting, StallTimeout: limit,
	})
	if err != nil {
		t.Fatal(err)
	}
}

var addedMember = regexp.MustCompile(`Member +([0-9a-f]+) added`)

// tightLoop is a person's script around etcdctl.
func tightLoop(t *testing.T, c *etcdtest.Cluster, p *etcdtest.Process) {
	t.Helper()
	_, id := etcdctlAdds(t, c.Etcdctl, p.Name, p.PeerURL())
	etcdctlPromotes(t, c.Etcdctl, id)
}

// etcdctlPromotes asks for a vote until the member has it.
func etcdctlPromotes(t *testing.T, etcdctl func(...string) (string, error), id string) {
	t.Helper()
	until(t, 20*time.Millisecond, func(context.Context) error {
		_, err := etcdctl("member", "promote", id)
		if err != nil && strings.HasSuffix(strings.TrimSpace(err.Error()), "can only promote a learner member") {
			return nil // an earlier call succeeded, and its answer was an error
		}
		return err
	})
}

// etcdctlAdds announces a learner. As a person would, it asks again until the
// cluster thinks itself healthy enough.
func etcdctlAdds(t *testing.T, etcdctl func(...string) (string, error), name, peerURL string) (printed, id string) {
	t.Helper()
	until(t, 20*time.Millisecond, func(context.Context) (err error) {
		printed, err = etcdctl("member", "add", name, "--learner", "--peer-urls="+peerURL)
		return err
	})
	found := addedMember.FindStringSubmatch(printed)
	if found == nil {
		t.Fatalf("etcdctl member add printed %q", printed)
	}
	return printed, found[1]
}

// pollEvery is a program that asks for the promotion at that interval, the
// first time right after the announcement, over a connection that it keeps.
func pollEvery(interval time.Duration) func(*testing.T, *etcdtest.Cluster, *etcdtest.Process) {
	return func(t *testing.T, c *etcdtest.Cluster, p *etcdtest.Process) {
		t.Helper()
		client := c.Client(t)
		var added *clientv3.MemberAddResponse
		until(t, 20*time.Millisecond, func(ctx context.Context) (err error) {
			added, err = client.MemberAddAsLearner(ctx, []string{p.PeerURL()})
			return err
		})
		until(t, interval, func(ctx context.Context) error {
			_, err := client.MemberPromote(ctx, added.Member.ID)
			if errors.Is(err, rpctypes.ErrMemberNotLearner) {
				return nil
			}
			return err
		})
	}
}

// until calls do until it succeeds.
func until(t *testing.T, interval time.Duration, do func(context.Context) error) {
	t.Helper()
	ctx := within(t, limit)
	for {
		call, cancel := context.WithTimeout(ctx, 10*time.Second)
		err := do(call)
		cancel()
		if err == nil {
			return
		}
		select {
		case <-time.After(interval):
		case <-ctx.Done():
			t.Fatalf("not within %v: %v", limit, err)
		}
	}
}

// spectator sees a member come, from the list of a member that stays.
type spectator struct {
	listed, started, voting chan time.Time
}

// watch looks every 3 ms until the member votes.
func watch(t *testing.T, client *clientv3.Client, peerURL string) *spectator {
	t.Helper()
	s := &spectator{make(chan time.Time, 1), make(chan time.Time, 1), make(chan time.Time, 1)}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	done := make(chan struct{})
	t.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		var listed, started bool
		tick := time.NewTicker(3 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			if list, err := client.MemberList(ctx, clientv3.WithSerializable()); err == nil {
				now := time.Now()
				for _, m := range list.Members {
					if !slices.Contains(m.PeerURLs, peerURL) {
						continue
					}
					if !listed {
						listed = true
						s.listed <- now
					}
					if !started && m.Name != "" {
						started = true
						s.started <- now
					}
					if !m.IsLearner {
						s.voting <- now
						return
					}
				}
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	}()
	return s
}

// wait returns when it was seen.
func wait(t *testing.T, what string, seen chan time.Time) time.Time {
	t.Helper()
	select {
	case at := <-seen:
		return at
	case <-time.After(limit):
		t.Fatalf("never seen: %s", what)
		return time.Time{}
	}
}

// store is what a cluster has when a member joins.
type store struct {
	name  string
	bytes int
	// old is a cluster that has lived for a while: it keeps little log, so that
	// a newcomer is sent a snapshot.
	old    bool
	rounds int
	rivals []joiner
}

// From a member's announcement to its vote. Everybody's machine is started at
// the moment at which the member is listed.
func measureJoin(t *testing.T, c campaign) []bench.Row {
	few := []joiner{
		{"etcdctl, asking every 20 ms", bench.Goal{Bound: bench.Ratio, Limit: 1.2}, tightLoop},
		{"every 500 ms, as kubeadm does", bench.Goal{Bound: bench.Below}, pollEvery(500 * time.Millisecond)},
	}
	stores := []store{{name: "empty", rounds: 1, rivals: few}}
	if c.whole {
		all := slices.Clone(few)
		for _, other := range []struct {
			who   string
			every time.Duration
		}{{"Talos", 2 * time.Second}, {"etcd-operator", 10 * time.Second}, {"k3s", 15 * time.Second}} {
			all = append(all, joiner{fmt.Sprintf("every %v, as %s does", other.every, other.who), bench.Goal{Bound: bench.Below}, pollEvery(other.every)})
		}
		stores = []store{
			{"empty", 0, false, 5, all},
			{"empty, by snapshot", 0, true, 9, few},
			{"100 MB, by snapshot", 100 << 20, true, 3, all},
			{"1 GB, by snapshot", 1 << 30, true, 3, all},
		}
	}
	var rows []bench.Row
	for _, s := range stores {
		if !t.Run(s.name, func(t *testing.T) { rows = append(rows, joinAt(t, s)...) }) {
			break
		}
	}
	return rows
}

// joinAt measures joins to three members with such a store.
func joinAt(t *testing.T, s store) []bench.Row {
	o := etcdtest.Options{QuotaBytes: 8 << 30}
	if s.old {
		o.Env = map[string]string{"ETCD_SNAPSHOT_COUNT": "100", "ETCD_SNAPSHOT_CATCHUP_ENTRIES": "10"}
	}
	cl := etcdtest.Start(t, 3, o)
	fill(t, cl, s.bytes)
	if s.old {
		outlive(t, cl, 100)
	}
	pause(t, healthInterval)
	vote, serving, call := map[string]bench.Sample{}, map[string]bench.Sample{}, map[string]bench.Sample{}
	var sides []side
	for _, j := range append([]joiner{{name: here, join: engineJoins}}, s.rivals...) {
		n := 0
		sides = append(sides, side{j.name, func(t *testing.T) {
			n++
			p := cl.NewJoiner(t, fmt.Sprintf("d%d", n))
			seen := watch(t, cl.ClientFor(t, cl.Members()[0]), p.PeerURL())
			listed := startOnceListed(t, seen, p)
			begin := time.Now()
			j.join(t, cl, p)
			took := time.Since(begin)
			from, to := wait(t, "the announcement", listed), wait(t, "the vote", seen.voting)
			if err := p.WaitReady(within(t, limit)); err != nil {
				t.Fatal(err)
			}
			serves := time.Since(from)
			vote[j.name] = append(vote[j.name], seconds(to.Sub(from)))
			serving[j.name] = append(serving[j.name], seconds(serves))
			call[j.name] = append(call[j.name], seconds(took))
			t.Logf("listed to voting %v, to serving clients %v; asked to done %v", to.Sub(from).Round(time.Millisecond),
				serves.Round(time.Millisecond), took.Round(time.Millisecond))
			removeDead(t, cl, p)
		}})
	}
	turns(t, s.rounds, sides...)
	const measure = "announcement → voter"
	var rows []bench.Row
	for _, r := range s.rivals {
		rows = append(rows, bench.Row{Measure: measure, Case: s.name, Unit: "s", Here: vote[here], Rival: r.name, Against: vote[r.name], Goal: r.goal})
	}
	// A vote may be given to a member that serves nobody yet: etcdctl does, the
	// provider does not.
	tight := s.rivals[0]
	return append(rows,
		bench.Row{Measure: measure, Case: s.name + ": a voter that serves clients", Unit: "s", Here: serving[here], Rival: tight.name, Against: serving[tight.name], Goal: tight.goal},
		bench.Row{Measure: measure, Case: s.name + ": the whole call", Unit: "s", Here: call[here], Rival: tight.name, Against: call[tight.name]})
}

// outlive makes more entries than the cluster keeps in its log.
func outlive(t *testing.T, c *etcdtest.Cluster, entries int) {
	t.Helper()
	client := c.Client(t)
	ctx := within(t, limit)
	for range 2 * entries {
		if _, err := client.Put(ctx, "/bench/life", "x"); err != nil {
			t.Fatal(err)
		}
	}
}

// startOnceListed starts the machine at the moment at which its member is
// listed, and passes that moment on.
func startOnceListed(t *testing.T, seen *spectator, p *etcdtest.Process) chan time.Time {
	t.Helper()
	listed, over, done := make(chan time.Time, 1), make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(over); <-done })
	go func() {
		defer close(done)
		select {
		case at := <-seen.listed:
			p.Start()
			listed <- at
		case <-over:
		}
	}()
	return listed
}

// removeDead ends a member and takes it out, and waits until the cluster may
// be changed again.
func removeDead(t *testing.T, c *etcdtest.Cluster, p *etcdtest.Process) {
	t.Helper()
	id := c.MemberID(t, p)
	p.PowerOff()
	client := c.Client(t)
	until(t, 50*time.Millisecond, func(ctx context.Context) error {
		if _, err := client.MemberRemove(ctx, id); err != nil && !errors.Is(err, rpctypes.ErrMemberNotFound) {
			return err
		}
		return nil
	})
	if err := c.WaitHealthy(within(t, limit)); err != nil {
		t.Fatal(err)
	}
	pause(t, time.Second)
}

// fill writes that much, in values of 16 KiB under keys of their own.
func fill(t *testing.T, c *etcdtest.Cluster, bytes int) {
	t.Helper()
	const value, perTxn = 16 << 10, 32
	client := c.Client(t)
	ctx := within(t, limit)
	random := newRandom()
	for key := 0; key*value < bytes; {
		var ops []clientv3.Op
		for range perTxn {
			ops = append(ops, clientv3.OpPut("/bench/"+strconv.Itoa(key), random.text(value)))
			key++
		}
		if _, err := client.Txn(ctx).Then(ops...).Commit(); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.WaitHealthy(ctx); err != nil {
		t.Fatal(err)
	}
}
