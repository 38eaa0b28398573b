// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package bench_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
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
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/clock"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// store describes the data of a cluster when a member joins.
type store struct {
	name  string
	bytes int
	// old means that the cluster keeps only a short log, so that it sends a
	// snapshot to a new member.
	old bool
	// version is empty for the newest version.
	version etcdtest.Version
	rounds  int
	rivals  []joiner
}

// measureJoin measures the time from the addition of a member to its promotion.
// For all rivals, the machine starts when the member is listed.
func measureJoin(t *testing.T, c campaign) []bench.Row {
	few := closest()
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
			{name: "empty", rounds: 5, rivals: all},
			{name: "empty, by snapshot", old: true, rounds: 9, rivals: few},
			{name: "100 MB, by snapshot", bytes: 100 << 20, old: true, rounds: 3, rivals: all},
			{name: "1 GB, by snapshot", bytes: 1 << 30, old: true, rounds: 3, rivals: all},
		}
	}
	return joinEach(t, stores)
}

// measureJoinByLog measures the same on etcd 3.5, which sends its log to a new
// member for the first 100,000 entries. 3.6 and 3.7 send a snapshot after 100.
func measureJoinByLog(t *testing.T, c campaign) []bench.Row {
	return joinEach(t, []store{{name: "etcd 3.5, empty, by log", version: etcdtest.V35, rounds: c.rounds(9), rivals: closest()}})
}

// closest returns the rivals that poll most often.
func closest() []joiner {
	return []joiner{
		{"etcdctl member promote every 20 ms", bench.Goal{Bound: bench.Ratio, Limit: 1.2}, tightLoop},
		{"every 500 ms, as kubeadm does", bench.Goal{Bound: bench.Below}, pollEvery(500 * time.Millisecond)},
	}
}

func joinEach(t *testing.T, stores []store) []bench.Row {
	var rows []bench.Row
	for _, s := range stores {
		if !t.Run(s.name, func(t *testing.T) { rows = append(rows, joinAt(t, s)...) }) {
			break
		}
	}
	return rows
}

// joinAt measures joins to three members with this store.
func joinAt(t *testing.T, s store) []bench.Row {
	o := etcdtest.Options{Version: s.version, Env: map[string]string{"ETCD_QUOTA_BACKEND_BYTES": strconv.Itoa(8 << 30)}}
	if s.old {
		maps.Copy(o.Env, map[string]string{"ETCD_SNAPSHOT_COUNT": "100", "ETCD_SNAPSHOT_CATCHUP_ENTRIES": "10"})
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
			seen := watch(t, cl.Members()[0].Client(t), p.PeerURL())
			listed := startOnceListed(t, seen, p)
			begin := time.Now()
			j.join(t, cl, p)
			took := time.Since(begin)
			from, to := wait(t, "the addition", listed), wait(t, "the vote", seen.voting)
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
	const measure = bench.Joining
	var rows []bench.Row
	for _, r := range s.rivals {
		rows = append(rows, bench.Row{Measure: measure, Case: s.name, Unit: "s", Here: vote[here], Rival: r.name, Against: vote[r.name], Goal: r.goal})
	}
	// A promoted member may not serve clients yet: etcdctl promotes such a
	// member, the provider does not.
	tight := s.rivals[0]
	return append(rows,
		bench.Row{Measure: measure, Case: s.name + ": until it serves clients", Unit: "s", Here: serving[here], Rival: tight.name, Against: serving[tight.name], Goal: tight.goal},
		bench.Row{Measure: measure, Case: s.name + ": the whole operation", Unit: "s", Here: call[here], Rival: tight.name, Against: call[tight.name]})
}

// outlive writes more entries than the cluster keeps in its log.
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

// startOnceListed starts the machine when its member is listed, and sends that
// time to the returned channel.
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

// removeDead ends the process of a member, removes the member, and waits until
// the cluster accepts changes again.
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
	c.WaitHealthy(t)
	pause(t, time.Second)
}

// fill writes this many bytes, in values of 16 KiB under different keys.
func fill(t *testing.T, c *etcdtest.Cluster, bytes int) {
	t.Helper()
	const value, perTxn = 16 << 10, 32
	client := c.Client(t)
	ctx := within(t, limit)
	random := rand.NewChaCha8([32]byte{}) // values that cannot be compressed
	for key := 0; key*value < bytes; {
		var ops []clientv3.Op
		for range perTxn {
			text := make([]byte, value)
			_, _ = random.Read(text)
			ops = append(ops, clientv3.OpPut("/bench/"+strconv.Itoa(key), string(text)))
			key++
		}
		if _, err := client.Txn(ctx).Then(ops...).Commit(); err != nil {
			t.Fatal(err)
		}
	}
	c.WaitHealthy(t)
}

// healthInterval is how long peers must be connected before etcd considers them
// healthy.
const healthInterval = 5 * time.Second

// engineFor returns an engine as in a new provider process: without an open
// connection.
func engineFor(t *testing.T, endpoints []string) *reconfigure.Engine {
	t.Helper()
	s := connection.Settings{
		Endpoints:   endpoints,
		DialTimeout: connection.DefaultDialTimeout, RequestTimeout: connection.DefaultRequestTimeout,
	}
	pool := &connection.Pool{}
	t.Cleanup(func() { _ = pool.Close() })
	port := cluster.New(s, pool)
	return &reconfigure.Engine{
		Cluster: port, Process: &reconfigure.ProcessState{}, Clock: clock.System{},
		Locker: &claim.Lock{
			Store: claim.NewV3(port, s, pool), TTL: claim.LockTTL, Clock: clock.System{},
			Self: claim.Holder{Who: "bench", Run: t.Name()}, AtExit: pool.BeforeClose,
		},
	}
}

// joiner adds the member of p to the cluster and promotes it.
type joiner struct {
	name string
	goal bench.Goal
	join func(t *testing.T, c *etcdtest.Cluster, p *etcdtest.Process)
}

// engineJoins adds a member as the provider does.
func engineJoins(t *testing.T, c *etcdtest.Cluster, p *etcdtest.Process) {
	t.Helper()
	_, err := engineFor(t, c.Endpoints()).Join(within(t, limit), reconfigure.JoinRequest{
		Owner: "name:" + p.Name, Name: p.Name, PeerURLs: []string{p.PeerURL()},
		Goal: reconfigure.Voting,
	})
	if err != nil {
		t.Fatal(err)
	}
}

var addedMember = regexp.MustCompile(`Member +([0-9a-f]+) added`)

// tightLoop adds a member as a person's etcdctl script does.
func tightLoop(t *testing.T, c *etcdtest.Cluster, p *etcdtest.Process) {
	t.Helper()
	_, id := etcdctlAdds(t, c.Etcdctl, p.Name, p.PeerURL())
	etcdctlPromotes(t, c.Etcdctl, id)
}

// etcdctlPromotes requests the promotion until the member is a voter.
func etcdctlPromotes(t *testing.T, etcdctl func(...string) (string, error), id string) {
	t.Helper()
	until(t, 20*time.Millisecond, func(context.Context) error {
		_, err := etcdctl("member", "promote", id)
		if err != nil && strings.HasSuffix(strings.TrimSpace(err.Error()), "can only promote a learner member") {
			return nil // an earlier call succeeded although its answer was an error
		}
		return err
	})
}

// etcdctlAdds adds a learner. Like a person, it tries again until the cluster
// considers itself healthy enough.
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

// pollEvery is a program that requests the promotion at that interval, starting
// right after the addition, over a persistent connection.
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

// spectator records when a member appears in the list of a remaining member.
type spectator struct {
	listed, started, voting chan time.Time
}

// watch polls every 3 ms until the member is a voter.
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

// wait returns the time at which the event was seen.
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
