// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discovery

import (
	"errors"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	token3 = "3e86b59982e49066c5d813af1c2e2579"
)

// settings returns settings for the endpoints without TLS.
func settings(endpoints ...string) connection.Settings {
	return connection.Settings{
		Endpoints:      endpoints,
		DialTimeout:    2 * time.Second,
		RequestTimeout: 3 * time.Second,
	}
}

func mustCreate(t *testing.T, r Registry, token string, size int) Place {
	t.Helper()
	place, err := r.Create(etcdtest.WaitContext(t), token, size)
	if err != nil {
		t.Fatalf("create %s for %d: %v", token, size, err)
	}
	return place
}

func mustStatus(t *testing.T, r Registry, token string) Status {
	t.Helper()
	s, err := r.Status(etcdtest.WaitContext(t), token)
	if err != nil {
		t.Fatalf("status of %s: %v", token, err)
	}
	return s
}

// newV3 returns a registry with its own connections.
func newV3(t *testing.T, s connection.Settings, prefix string) *Cluster {
	t.Helper()
	pool := &connection.Pool{}
	t.Cleanup(func() { _ = pool.Close() })
	return NewV3(s, prefix, pool)
}

func wantType[E error](t *testing.T, got error) {
	t.Helper()
	if !is[E](got) {
		t.Fatalf("got error %v, want a %T", got, *new(E))
	}
}

func wantError(t *testing.T, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Fatalf("got error %v, want %v", got, want)
	}
}
