// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package claim_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// realTime is the clock of tests against real servers.
type realTime struct{}

func (realTime) Now() time.Time { return time.Now() }

func (realTime) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func settings(endpoints []string) connection.Settings {
	return connection.Settings{
		Endpoints: endpoints, DialTimeout: time.Second, RequestTimeout: 2 * time.Second,
	}
}

// storeAt returns the store of an API at the endpoints, and a function to close it.
func storeAt(api string, endpoints []string) (claim.Store, func()) {
	s := settings(endpoints)
	if api == "v2" {
		return claim.NewV2(s, &connection.Pool{}), func() {}
	}
	pool := &connection.Pool{}
	return claim.NewV3(cluster.New(s, pool), s, pool), func() { _ = pool.Close() }
}

// bench is a real server that stores claims.
type bench struct {
	*etcdtest.Cluster
	api string
}

func (b bench) store(t *testing.T) claim.Store {
	t.Helper()
	s, closeAll := storeAt(b.api, b.Endpoints())
	t.Cleanup(closeAll)
	return s
}

// everyAPI runs a test against each API and each relevant version, with a
// server of one member.
func everyAPI(t *testing.T, test func(t *testing.T, b bench)) {
	t.Parallel()
	for _, c := range []struct {
		api     string
		version etcdtest.Version
	}{{"v2", etcdtest.V35}, {"v3", etcdtest.V35}, {"v3", etcdtest.V36}, {"v3", etcdtest.V37}} {
		if !etcdtest.Runs(c.version) {
			continue
		}
		t.Run(c.api+" on "+string(c.version), func(t *testing.T) {
			t.Parallel()
			test(t, bench{etcdtest.Start(t, 1, etcdtest.Options{Version: c.version, V2: c.api == "v2"}), c.api})
		})
	}
}

const key = "/running/web1"

// take starts a claim on key that ends with the test.
func take(t *testing.T, s claim.Store, o claim.Options) *claim.Claim {
	t.Helper()
	if o.Key == "" {
		o.Key = key
	}
	c, err := claim.Start(etcdtest.WaitContext(t), s, realTime{}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second) // its server may be gone
		defer cancel()
		_ = c.Stop(ctx)
	})
	return c
}

// value returns the value of key, "" if there is none.
func value(t *testing.T, s claim.Store) string {
	t.Helper()
	e, _, err := s.Get(etcdtest.WaitContext(t), key)
	if err != nil {
		t.Fatal(err)
	}
	return e.Value
}
