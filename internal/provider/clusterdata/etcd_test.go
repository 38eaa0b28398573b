// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package clusterdata

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(etcdtest.Collected{M: m}) }

// A healthy cluster, on every version; one endpoint suffices to observe it.
func TestAllWell(t *testing.T) {
	for _, v := range etcdtest.Versions() {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			b := etcdtest.Start(t, 3, etcdtest.Options{Version: v})
			c, count := reach(t, nil, b.Endpoints()[2])
			s := mustMatch(t, b, c)
			if !s.Healthy || s.FailureTolerance.ValueInt64() != 1 || len(s.Alarms) > 0 {
				t.Errorf("healthy %v, tolerance %d, alarms %v", s.Healthy, s.FailureTolerance, s.Alarms)
			}
			s.mustAdvise(t)
			if count.witness != 0 {
				t.Error("somebody was asked about members that answer")
			}
		})
	}
}

// A frozen member costs a single observation, and that costs a single request
// timeout: it ends long before a second observation could.
func TestOneFrozen(t *testing.T) {
	t.Parallel()
	const timeout = 2 * requestTimeout
	b := etcdtest.Start(t, 3, etcdtest.Options{})
	at := slices.Index(b.Members(), b.Leader(t))
	frozen := b.Members()[(at+1)%3]
	frozen.Freeze()
	defer frozen.Thaw()
	c, count := reachWith(t, connection.Settings{Endpoints: b.Endpoints(), RequestTimeout: timeout})
	ctx, cancel := context.WithTimeout(t.Context(), 2*timeout)
	defer cancel()
	l, err := observe(ctx, c)
	if err != nil {
		t.Fatalf("not within two request timeouts: %v", err)
	}
	if count.observed != 1 || count.witness != 1 {
		t.Errorf("looked %d times, and asked for connections %d times", count.observed, count.witness)
	}
	if _, told := l.seen[l.now.ByName()[(at+1)%3].ID]; !told {
		t.Errorf("connections: %v", l.seen)
	}
	mustMatch(t, b, c)
}

// A healthy learner, and a learner that is cut off from the others and makes no
// progress while they continue.
func TestLearner(t *testing.T) {
	t.Parallel()
	b := etcdtest.Start(t, 1, etcdtest.Options{Links: true})
	p := b.AddLearner(t, "learner1")
	c, count := reach(t, nil, b.Endpoints()...)
	s := mustMatch(t, b, c, p)
	if !s.Healthy || s.member(t, "learner1").Role != "learner" || slices.Contains(s.VoterEndpoints, p.ClientURL()) {
		t.Errorf("saw %+v", s)
	}
	s.mustAdvise(t, "No further voter may fail. Alive: 1 of 1 voters. Quorum: 1.")

	b.Split(p)
	client := b.Client(t)
	var writers sync.WaitGroup
	for w := range 8 {
		writers.Go(func() {
			for i := range 150 {
				if _, err := client.Put(t.Context(), fmt.Sprintf("k%d-%d", w, i), "v"); err != nil {
					t.Errorf("put: %v", err)
					return
				}
			}
		})
	}
	writers.Wait()
	c.Changed() // observe again
	count.observed = 0
	s = lookAt(t, c)
	m := s.member(t, "learner1")
	if count.observed != 2 || !m.Alive || m.Lag.ValueInt64() < 1000 {
		t.Errorf("looked %d times, and saw %+v", count.observed, m)
	}
	s.mustAdvise(t, fmt.Sprintf("Learner learner1 (%s) is %d entries behind the leader and does not move.", m.ID.ValueString(), m.Lag.ValueInt64()), "No further voter may fail")
}
