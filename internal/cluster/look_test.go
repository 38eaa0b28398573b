// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdsim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

func look(t *testing.T, c *Client, want membership.ClusterID) membership.Snapshot {
	t.Helper()
	ctx := etcdtest.WaitContext(t)
	snap, err := c.Look(ctx, want)
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

// essence is what decisions and texts depend on, without values that change by
// themselves.
type essence struct {
	state           membership.AnswerState
	id, leader      membership.MemberID
	learner, readOK bool
	version         string
}

func essences(s membership.Snapshot) map[membership.MemberID]essence {
	out := map[membership.MemberID]essence{}
	for _, m := range s.Members {
		a := s.Answer(m.ID)
		if !s.Linearizable {
			a.Leader = 0 // without a quorum it remains the leader for some time
		}
		out[m.ID] = essence{a.State, a.MemberID, a.Leader, a.Learner, a.ReadOK, a.Version}
	}
	return out
}

// mustSeeTheSame fails the test unless Look and Observe give the same result.
func mustSeeTheSame(t *testing.T, c *Client, want membership.ClusterID) membership.Snapshot {
	t.Helper()
	ctx := etcdtest.WaitContext(t)
	seen := look(t, c, want)
	observed, err := c.Observe(ctx, want)
	if err != nil {
		t.Fatal(err)
	}
	if seen.ClusterID != observed.ClusterID || seen.Linearizable != observed.Linearizable ||
		!slices.EqualFunc(seen.Members, observed.Members, func(a, b membership.Member) bool { return sameMembers([]membership.Member{a}, []membership.Member{b}) }) ||
		!maps.Equal(essences(seen), essences(observed)) || len(seen.Others) != len(observed.Others) {
		t.Errorf("a look saw\n%+v\nan observation\n%+v", seen, observed)
	}
	return seen
}

// Look and Observe give the same result: on every version, with a learner, with
// frozen members, and without a quorum.
func TestLookSeesWhatObserveSees(t *testing.T) {
	t.Parallel()
	for _, v := range etcdtest.Versions() {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			b := etcdtest.Start(t, 3, etcdtest.Options{Version: v})
			leader := b.Leader(t)
			c := clientFor(t, settings(leader.ClientURL()))
			d := b.NewJoiner(t, "d")
			ctx := etcdtest.WaitContext(t)
			client := b.Client(t)
			for _, err := client.MemberAddAsLearner(ctx, []string{d.PeerURL()}); err != nil; _, err = client.MemberAddAsLearner(ctx, []string{d.PeerURL()}) {
				if ctx.Err() != nil || !errors.Is(err, rpctypes.ErrUnhealthy) {
					t.Fatal(err)
				}
				time.Sleep(100 * time.Millisecond) // etcd requires every voter to be connected for 5 s
			}
			if s := mustSeeTheSame(t, c, 0); len(s.Members) != 4 || !s.Linearizable {
				t.Errorf("with a learner that has not started: %+v", s)
			}
			d.Start()
			if err := d.WaitReady(ctx); err != nil {
				t.Fatal(err)
			}
			s := mustSeeTheSame(t, c, 0)
			if a := s.Answer(membership.MemberID(b.MemberID(t, d))); a.State != membership.Answered || !a.Learner {
				t.Errorf("the learner answered %+v", a)
			}
			followers := slices.DeleteFunc(slices.Clone(b.Members()), func(p *etcdtest.Process) bool { return p == leader || p == d })
			for i, p := range followers {
				p.Freeze()
				defer p.Thaw()
				if s := mustSeeTheSame(t, c, s.ClusterID); s.Linearizable != (i == 0) {
					t.Errorf("%d of 3 voters frozen: linearizable %v", i+1, s.Linearizable)
				}
			}
		})
	}
}

// The endpoints are of two clusters, whichever answers first, or behind one
// address.
func TestLookBesideOthers(t *testing.T) {
	t.Parallel()
	one, two := etcdtest.Start(t, 1, etcdtest.Options{}), etcdtest.Start(t, 1, etcdtest.Options{})
	both := clientFor(t, settings(append(one.Endpoints(), two.Endpoints()...)...))
	for _, b := range []*etcdtest.Cluster{one, two} {
		id := look(t, clientFor(t, settings(b.Endpoints()...)), 0).ClusterID
		if s := mustSeeTheSame(t, both, id); s.ClusterID != id || len(s.Others) != 1 {
			t.Errorf("expected %s, saw %+v", id, s)
		}
	}
	if s := mustSeeTheSame(t, both, 0); len(s.Others) != 1 {
		t.Errorf("expected none, saw %+v", s)
	}
	stranger := look(t, clientFor(t, settings(one.Endpoints()...)), 0).ClusterID
	mustSeeTheSame(t, clientFor(t, settings(two.Endpoints()...)), stranger)

	b := etcdtest.Start(t, 3, etcdtest.Options{})
	s := settings(b.Endpoints()[0])
	s.AddressMap = map[string]string{b.Endpoints()[1]: b.Endpoints()[0], b.Endpoints()[2]: b.Endpoints()[0]}
	c := clientFor(t, s)
	seen, observed := look(t, c, 0), observe(t, c)
	shown := seen.Linearizable // one member is enough for display, but not for changes
	if seen.Linearizable = false; !shown || observed.Linearizable || !maps.Equal(essences(observed), essences(seen)) {
		t.Errorf("through one address a look saw\n%+v\nan observation\n%+v", seen, observed)
	}
}

// If no endpoint answers, Look and Observe return the same error.
func TestLookAtNobody(t *testing.T) {
	t.Parallel()
	p := etcdtest.NewProcess(t, etcdtest.Options{})
	var gone *connection.Unreachable
	if _, err := clientFor(t, settings(p.ClientURL())).Look(t.Context(), 0); !errors.As(err, &gone) || len(gone.Answers) != 1 {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := clientFor(t, settings(p.ClientURL())).Look(ctx, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// A Look requests one list, and from each voter the status and a read.
func TestLookAsksOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		got := map[string]int{}
		n := &etcdsim.Network{Before: func(_ context.Context, c etcdsim.Call) error {
			mu.Lock()
			defer mu.Unlock()
			got[path.Base(c.Method)]++
			return nil
		}}
		n.Form("3.6.0", "a", "b", "c", "d", "e")
		pool := &connection.Pool{World: n.Run("one")}
		t.Cleanup(func() { _ = pool.Close() })
		c := New(settings(etcdsim.ClientURL("a")), pool)
		look(t, c, 0)
		clear(got)
		look(t, c, 0)
		if want := map[string]int{"MemberList": 1, "Status": 5, "Range": 5}; !maps.Equal(got, want) {
			t.Errorf("calls %v, want %v", got, want)
		}
	})
}
