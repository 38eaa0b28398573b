// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package bench_test

import (
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

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/clock"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/bench"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
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
}

// measureJoin measures the time from the addition of a member to its promotion.
// For all rivals, the machine starts when the member is listed.
func measureJoin(t *testing.T, c campaign) []bench.Row {
	stores := []store{{name: "empty", rounds: c.rounds(5)}}
	if c.whole {
		stores = append(stores,
			store{name: "empty, by snapshot", old: true, rounds: 9},
			store{name: "100 MB, by snapshot", bytes: 100 << 20, old: true, rounds: 3},
			store{name: "1 GB, by snapshot", bytes: 1 << 30, old: true, rounds: 3},
		)
	}
	return joinEach(t, stores...)
}

// measureJoinByLog measures the same on etcd 3.5, which sends its log to a new
// member for the first 100,000 entries. 3.6 and 3.7 send a snapshot after 100.
func measureJoinByLog(t *testing.T, c campaign) []bench.Row {
	return joinEach(t, store{name: "etcd 3.5, empty, by log", version: etcdtest.V35, rounds: c.rounds(9)})
}

func joinEach(t *testing.T, stores ...store) (rows []bench.Row) {
	for _, s := range stores {
		if !t.Run(s.name, func(t *testing.T) { rows = append(rows, joinAt(t, s)...) }) {
			break
		}
	}
	return rows
}

// joiner adds the member of p to the cluster and promotes it.
type joiner struct {
	name string
	join func(t *testing.T, c *etcdtest.Cluster, p *etcdtest.Process)
}

// tight is the rival, a script.
const tight = "etcdctl member promote every 20 ms"

// joinAt measures joins to three members with this store.
func joinAt(t *testing.T, s store) []bench.Row {
	env := map[string]string{"ETCD_QUOTA_BACKEND_BYTES": strconv.Itoa(8 << 30)}
	if s.old {
		maps.Copy(env, map[string]string{"ETCD_SNAPSHOT_COUNT": "100", "ETCD_SNAPSHOT_CATCHUP_ENTRIES": "10"})
	}
	cl := etcdtest.Start(t, 3, etcdtest.Options{Version: s.version, Env: env})
	fill(t, cl, s)
	time.Sleep(healthInterval)
	vote, serving, call := map[string]bench.Sample{}, map[string]bench.Sample{}, map[string]bench.Sample{}
	var sides []side
	for _, j := range []joiner{{here, engineJoins}, {tight, tightLoop}} {
		sides = append(sides, side{j.name, func(t *testing.T) {
			p := cl.NewJoiner(t, fmt.Sprintf("d%d", len(vote[j.name])))
			seen := watch(t, cl.Members()[0].Client(t), p.PeerURL(), p.Start)
			begin := time.Now()
			j.join(t, cl, p)
			took, m := time.Since(begin), seen()
			must.Succeed(t, p.WaitReady(etcdtest.WaitContext(t)))
			vote[j.name] = append(vote[j.name], m.voting.Sub(m.listed).Seconds())
			serving[j.name] = append(serving[j.name], time.Since(m.listed).Seconds())
			call[j.name] = append(call[j.name], took.Seconds())
			removeDead(t, cl, p)
		}})
	}
	turns(t, s.rounds, sides...)
	row := func(what string, of map[string]bench.Sample, goal bench.Goal) bench.Row {
		return bench.Row{Measure: "new member, from added to voting", Case: s.name + what, Unit: "s", Here: of[here], Rival: tight, Against: of[tight], Goal: goal}
	}
	goal := bench.Goal{Bound: bench.Ratio, Limit: 1.2}
	return []bench.Row{
		row("", vote, goal),
		// A promoted member may not serve clients yet: etcdctl promotes such a
		// member, the provider does not.
		row(": until it serves clients", serving, goal),
		row(": the whole operation", call, bench.Goal{}),
	}
}

// removeDead ends the process of a member, removes the member, and waits until
// the cluster accepts changes again.
func removeDead(t *testing.T, c *etcdtest.Cluster, p *etcdtest.Process) {
	t.Helper()
	id := c.MemberID(t, p)
	p.PowerOff()
	client := c.Client(t)
	etcdtest.Eventually(t, "the member is removed", func() error {
		_, err := client.MemberRemove(etcdtest.WaitContext(t), id)
		if errors.Is(err, rpctypes.ErrMemberNotFound) {
			return nil
		}
		return err
	})
	c.WaitHealthy(t)
	time.Sleep(time.Second)
}

// fill writes what the store has, in values of 16 KiB under different keys. To an old
// one it then writes more entries than the cluster keeps in its log.
func fill(t *testing.T, c *etcdtest.Cluster, s store) {
	t.Helper()
	const value, perTxn = 16 << 10, 32
	client, ctx := c.Client(t), etcdtest.WaitContext(t)
	random := rand.NewChaCha8([32]byte{}) // values that cannot be compressed
	put := func(ops ...clientv3.Op) {
		t.Helper()
		_, err := client.Txn(ctx).Then(ops...).Commit()
		must.Succeed(t, err)
	}
	for key := 0; key*value < s.bytes; {
		var ops []clientv3.Op
		for range perTxn {
			text := make([]byte, value)
			_, _ = random.Read(text)
			ops = append(ops, clientv3.OpPut("/bench/"+strconv.Itoa(key), string(text)))
			key++
		}
		put(ops...)
	}
	if s.old {
		for range 200 {
			put(clientv3.OpPut("/bench/life", "x"))
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
		Cluster: port, Process: &reconfigure.ProcessState{}, Clock: clock.System{}, Changed: func() {},
		Locker: &claim.Lock{
			Store: claim.NewV3(port, s, pool), Clock: clock.System{},
			Self: claim.Holder{Who: "bench", Run: t.Name()}, AtExit: pool.BeforeClose,
		},
	}
}

// engineJoins adds a member as the provider does.
func engineJoins(t *testing.T, c *etcdtest.Cluster, p *etcdtest.Process) {
	t.Helper()
	_, err := engineFor(t, c.Endpoints()).Join(etcdtest.WaitContext(t), reconfigure.JoinRequest{
		Owner: "name:" + p.Name, Name: p.Name, PeerURLs: []string{p.PeerURL()},
		Goal: reconfigure.Voting,
	})
	must.Succeed(t, err)
}

// etcdctl runs etcdctl, as [etcdtest.Cluster.Etcdctl] does.
type etcdctl func(args ...string) (string, error)

var addedMember = regexp.MustCompile(`Member +([0-9a-f]+) added`)

// tightLoop adds a member as a person's etcdctl script does.
func tightLoop(t *testing.T, c *etcdtest.Cluster, p *etcdtest.Process) {
	t.Helper()
	etcdctl(c.Etcdctl).promotes(t, etcdctl(c.Etcdctl).adds(t, p.Name, p.PeerURL()))
}

// promotes requests the promotion until the member is a voter.
func (run etcdctl) promotes(t *testing.T, id string) {
	t.Helper()
	etcdtest.Eventually(t, "the member is promoted", func() error {
		_, err := run("member", "promote", id)
		if err != nil && strings.HasSuffix(strings.TrimSpace(err.Error()), "can only promote a learner member") {
			return nil // an earlier call succeeded although its answer was an error
		}
		return err
	})
}

// adds adds a learner and returns its ID. Like a person, it tries again until the cluster
// considers itself healthy enough.
func (run etcdctl) adds(t *testing.T, name, peerURL string) (id string) {
	t.Helper()
	etcdtest.Eventually(t, "the member is added", func() error {
		printed, err := run("member", "add", name, "--learner", "--peer-urls="+peerURL)
		if found := addedMember.FindStringSubmatch(printed); found != nil {
			id = found[1]
		}
		return err
	})
	return id
}

// moments are when a remaining member listed another one, and listed it as a voter.
type moments struct{ listed, voting time.Time }

// watch polls every 3 ms until the member is a voter, and calls listed when it is listed.
// What it returns waits for the end of that.
func watch(t *testing.T, client *clientv3.Client, peerURL string, listed func()) func() moments {
	t.Helper()
	ctx, seen := etcdtest.WaitContext(t), make(chan moments, 1)
	go func() {
		defer close(seen)
		var m moments
		for ctx.Err() == nil {
			time.Sleep(3 * time.Millisecond)
			list, err := client.MemberList(ctx, clientv3.WithSerializable())
			if err != nil {
				continue
			}
			now := time.Now()
			i := slices.IndexFunc(list.Members, func(m *etcdserverpb.Member) bool { return slices.Contains(m.PeerURLs, peerURL) })
			if i < 0 {
				continue
			}
			if m.listed.IsZero() {
				m.listed = now
				listed()
			}
			if !list.Members[i].IsLearner {
				m.voting = now
				seen <- m
				return
			}
		}
	}()
	return func() moments {
		t.Helper()
		m, ok := <-seen
		if !ok {
			t.Fatal("the member was never a voter")
		}
		return m
	}
}
