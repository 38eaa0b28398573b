// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package bench_test

import (
	"context"
	"errors"
	"regexp"
	"slices"
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
