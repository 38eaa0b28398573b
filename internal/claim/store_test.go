// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package claim_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/clock"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdsim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/must"
)

// What heartbeats go through is tested with the provider, in package simulated.

// A beat after the key has expired fails. It restores nothing, and does not renew another
// claim of the same value.
func TestLateBeat(t *testing.T) {
	everyAPI(t, func(t *testing.T, s claim.Store, _ *etcdsim.Network) {
		e, err := s.Create(t.Context(), key, "mine", 2*time.Second)
		must.Succeed(t, err)
		time.Sleep(3 * time.Second)
		var lost *claim.LostError
		if _, err = s.Beat(t.Context(), e, time.Second); !errors.As(err, &lost) || lost.Now != nil || err.Error() != "/running/web1 was lost: it expired, because the process or its machine stood still, or it was deleted" {
			t.Errorf("the late beat: %v", err)
		}
		if now, err := s.Get(t.Context(), key); now != nil || err != nil {
			t.Errorf("the late beat brought back %+v, %v", now, err)
		}
		if _, err := s.Create(t.Context(), key, "mine", 10*time.Second); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Beat(t.Context(), e, time.Hour); !isLost(err) {
			t.Errorf("a beat on another claim of the same value: %v", err)
		}
		if err := s.Delete(t.Context(), e); !isLost(err) {
			t.Errorf("deleting another claim of the same value: %v", err)
		}
		if now, err := s.Get(t.Context(), key); err != nil || now.Left > 10*time.Second {
			t.Errorf("there is %+v, %v", now, err)
		}
	})
}

// More claims than a prefix may contain are an error, not a list.
func TestListIsBounded(t *testing.T) {
	everyAPI(t, func(t *testing.T, s claim.Store, _ *etcdsim.Network) {
		put := func(i int) {
			if _, err := s.Create(t.Context(), fmt.Sprintf("/beats/%05d", i), "x", time.Hour); err != nil {
				t.Fatal(err)
			}
		}
		for i := range connection.MaxKeys {
			put(i)
		}
		if entries, _, err := s.List(t.Context(), "/beats"); err != nil || len(entries) != connection.MaxKeys || entries[7].Key != "/beats/00007" {
			t.Errorf("%d entries, %v", len(entries), err)
		}
		put(connection.MaxKeys)
		if entries, _, err := s.List(t.Context(), "/beats"); err == nil || !strings.Contains(err.Error(), "more than 1000 keys") {
			t.Errorf("%d entries, %v", len(entries), err)
		}
	})
}

// slow is a route that runs a function before the second request.
type slow struct {
	connection.Route
	requests int
	before   func()
}

func (s *slow) Anywhere(ctx context.Context, f func(context.Context, *clientv3.Client) error) error {
	if s.requests++; s.requests == 2 {
		s.before()
	}
	return s.Route.Anywhere(ctx, f)
}

// A process that is suspended between the grant of the lease and the write of the key, for
// longer than the lease lives, has lost no claim, and grants a new lease.
func TestALeaseThatEndsBeforeTheKeyIsWritten(t *testing.T) {
	everyAPI(t, func(t *testing.T, _ claim.Store, n *etcdsim.Network) {
		s := connection.Settings{Endpoints: []string{etcdsim.ClientURL("a")}}
		pool := &connection.Pool{World: n.Run("slow")}
		defer pool.Close()
		route := &slow{Route: cluster.New(s, pool), before: func() { time.Sleep(time.Minute) }}
		c, err := claim.Start(t.Context(), claim.NewV3(route, s, pool), clock.System{}, claim.Options{Key: key, Value: "late", TTL: 30 * time.Second})
		must.Succeed(t, err)
		if err := c.Check(t.Context()); err != nil || route.requests < 4 {
			t.Errorf("%d requests, %v", route.requests, err)
		}
		if err := c.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
