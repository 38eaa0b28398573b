// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdsim

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
)

// The rule of the house: no mutex and no sync.Once is held across a request or a
// wait. Otherwise a bubble hangs as soon as two goroutines meet there: two watches
// of one key, two releases of one claim, the end of the process meanwhile.
func TestNothingIsHeldAcrossAWait(t *testing.T) {
	for seed := range uint64(100) {
		synctest.Test(t, func(t *testing.T) {
			n := &Network{}
			n.Form("3.6.16", "a", "b")
			s := NewScheduler(t, seed)
			s.Latency, s.Twins = 400*time.Millisecond, true // both watches ask for the same lease
			n.Before = s.Before
			pool := &connection.Pool{World: n.Run("run")}
			settings := connection.Settings{Endpoints: []string{"http://a.example:2379", "http://b.example:2379"}, Clock: s.Clock("run")}
			store := claim.NewV3(cluster.New(settings, pool), settings, pool)
			as := func(name string) context.Context { return context.WithValue(t.Context(), resourceKey{}, name) }

			watching, end := context.WithCancel(as("watch"))
			var events []string
			var wg, watch sync.WaitGroup
			watch.Go(func() {
				_ = store.Watch(watching, "/beats", 1, func(e claim.Event) { events = append(events, fmt.Sprint(e.Name, e.Kind)) })
			})
			c, err := claim.Start(as("beat"), store, settings.Time(), claim.Options{Key: "/beats/x", Value: "v", TTL: 10 * time.Second, AtExit: pool.BeforeClose})
			ok(t, err)
			time.Sleep(20 * time.Second)
			for i := range 2 {
				wg.Go(func() { _ = c.Stop(as(fmt.Sprint("stop", i))) })
			}
			wg.Go(func() { _ = c.Check(as("check")) })
			time.Sleep(time.Duration(seed) * 10 * time.Millisecond)
			wg.Go(func() { ok(t, pool.Close()) })
			wg.Wait()
			time.Sleep(20 * time.Second)
			end()
			watch.Wait()
			s.Stop()
			if len(events) < 3 || events[0] != fmt.Sprint("x", claim.Started) || !slices.ContainsFunc(events[1:], func(e string) bool { return e != fmt.Sprint("x", claim.Beaten) }) {
				t.Errorf("seed %d: events %v", seed, events)
			}
		})
	}
}
