// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discovery

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// registryAt returns the registry of a protocol at the endpoints.
func registryAt(t *testing.T, protocol string, s connection.Settings) *Cluster {
	t.Helper()
	if protocol == "v2" {
		return NewV2(s, DefaultPrefix, &connection.Pool{})
	}
	return newV3(t, s, DefaultPrefix)
}

// bothProtocols runs a test for each protocol, on each version that has it.
func bothProtocols(t *testing.T, test func(t *testing.T, c *etcdtest.Cluster, protocol string)) {
	t.Helper()
	t.Parallel()
	for protocol, versions := range map[string][]etcdtest.Version{"v2": etcdtest.WithV2(), "v3": etcdtest.Versions()} {
		for _, version := range versions {
			t.Run(protocol+" on "+string(version), func(t *testing.T) {
				t.Parallel()
				test(t, etcdtest.Start(t, 1, etcdtest.Options{Version: version, V2: protocol == "v2"}), protocol)
			})
		}
	}
}

func TestCreate(t *testing.T) {
	bothProtocols(t, func(t *testing.T, c *etcdtest.Cluster, protocol string) {
		r, ctx := registryAt(t, protocol, settings(c.Endpoints()...)), etcdtest.WaitContext(t)
		if place := mustCreate(t, r, token3, 3); place != (Place{Token: token3}) {
			t.Errorf("place: got %+v", place)
		}
		stored := func() {
			t.Helper()
			if got := dump(t, c.Client(t)); protocol == "v3" && (len(got) != 1 || got["/_etcd/registry/"+token3+"/_config/size"] != "3") {
				t.Errorf("the keys are %v", got)
			}
			if protocol == "v3" {
				return
			}
			if got := request(t, http.MethodGet, V2URL(c.Endpoints()[0], DefaultPrefix, token3)+"/_config/size", ""); !strings.Contains(got, `"value":"3"`) || strings.Contains(got, "ttl") {
				t.Errorf("the size is %s, want 3 without a time to live", got)
			}
		}
		stored()
		if got := mustStatus(t, r, token3); got.Size != 3 || len(got.Members) != 0 || got.Complete() {
			t.Errorf("status: got %+v", got)
		}

		// The token is never overwritten, not even with the same size.
		for _, size := range []int{5, 3} {
			_, err := r.Create(ctx, token3, size)
			var exists *ExistsError
			if !errors.As(err, &exists) || exists.Size != 3 {
				t.Errorf("create again for %d: got %v, want that it exists for 3", size, err)
			}
		}
		stored()

		// A token with the same prefix is kept.
		mustCreate(t, r, token3+"0", 1)
		if err := r.Delete(ctx, token3); err != nil {
			t.Errorf("delete: %v", err)
		}
		wantError(t, r.Delete(ctx, token3), ErrNotFound)
		_, err := r.Status(ctx, token3)
		wantError(t, err, ErrNotFound)
		if got := mustStatus(t, r, token3+"0"); got.Size != 1 {
			t.Errorf("the neighbour: got %+v", got)
		}
	})
}

// Test that real members form a cluster from the token and a fourth is rejected.
func TestMembersFormACluster(t *testing.T) {
	t.Parallel()
	type row struct {
		protocol          string
		registry, members etcdtest.Version
	}
	rows := []row{{"v3", etcdtest.V35, etcdtest.V37}, {"v3", etcdtest.V36, etcdtest.V36}, {"v3", etcdtest.V37, etcdtest.V37}}
	for _, members := range append(etcdtest.WithV2(), etcdtest.V36) {
		rows = append(rows, row{"v2", etcdtest.V35, members})
	}
	for _, test := range rows {
		if !etcdtest.Runs(test.registry) {
			continue
		}
		t.Run(test.protocol+"-"+string(test.registry)+"-registry-"+string(test.members)+"-members", func(t *testing.T) {
			t.Parallel()
			registry := etcdtest.Start(t, 1, etcdtest.Options{Version: test.registry, V2: test.protocol == "v2"})
			r := registryAt(t, test.protocol, settings(registry.Endpoints()...))
			mustCreate(t, r, token3, 3)
			initial := func(name string) *etcdtest.Process {
				var p *etcdtest.Process
				if test.protocol == "v2" {
					p = v2Founder(t, V2URL(registry.Endpoints()[0], DefaultPrefix, token3), name, test.members)
				} else {
					p = etcdtest.NewProcess(t, etcdtest.Options{Name: name, Version: test.members})
					p.Env["ETCD_DISCOVERY_TOKEN"], p.Env["ETCD_DISCOVERY_ENDPOINTS"] = token3, registry.Endpoints()[0]
				}
				p.Start()
				return p
			}
			processes := []*etcdtest.Process{initial("a")}
			etcdtest.Until(t, "a registers", func() bool { return len(mustStatus(t, r, token3).Members) == 1 })
			if mustStatus(t, r, token3).Complete() {
				t.Error("complete with one of three")
			}
			processes = append(processes, initial("b"), initial("c"))
			allReady(t, processes)

			s := mustStatus(t, r, token3)
			if !s.Complete() || len(s.Members) != 3 || s.Members[0].Name != "a" || s.Members[0].PeerURLs[0] != processes[0].PeerURL() {
				t.Errorf("status: got %+v", s)
			}
			if ids := clusterIDs(t, processes); len(ids) != 1 {
				t.Errorf("clusters formed: %v, want one", ids)
			}
			fourth := initial("d")
			if code, err := fourth.WaitExit(etcdtest.WaitContext(t)); err != nil || code != 1 {
				t.Errorf("fourth: exit %d, %v; want 1", code, err)
			}
			if !strings.Contains(fourth.Log(), "discovery: cluster is full") {
				t.Error("the fourth process was not told that the cluster is full")
			}
		})
	}
}

// Test a discovery cluster that fails between the create and its answer. While
// it is unreachable, the outcome is unsure. Later the same create succeeds, and
// the token exists once.
func TestAnswerLost(t *testing.T) {
	t.Parallel()
	// The requests for a size key up to the write: the first read of v2 finds no
	// directory and does not request the size.
	for protocol, write := range map[string]int{"v2": 1, "v3": 2} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			c := etcdtest.Start(t, 1, etcdtest.Options{Version: etcdtest.V35, V2: true})
			proxy := newSwallower(t, strings.TrimPrefix(c.Endpoints()[0], "http://"))
			s := settings("http://" + proxy.Addr())
			s.RequestTimeout = time.Second

			proxy.swallowAfter(write)
			_, err := registryAt(t, protocol, s).Create(within(t, 6*time.Second), "lost", 3)
			var unsure *UnsureError
			if !errors.As(err, &unsure) || unsure.Place.Token != "lost" || !is[*connection.Unreachable](err) {
				t.Fatalf("got %v, want an unsure one that lists the endpoints", err)
			}
			if got := mustStatus(t, registryAt(t, protocol, settings(c.Endpoints()...)), "lost"); got.Size != 3 {
				t.Errorf("the write has not got through, so this tests nothing: %v", got)
			}

			proxy.swallowAfter(write)
			r, pauses := registryAt(t, protocol, s), 0
			r.sleep = func(context.Context, time.Duration) error { pauses++; proxy.heal(); return nil }
			if mustCreate(t, r, "back", 3); pauses == 0 {
				t.Error("no answer was lost")
			}

			// An older token is not taken for ours: not even the read is answered.
			proxy.swallowAfter(1)
			_, err = registryAt(t, protocol, s).Create(within(t, 5*time.Second), "back", 3)
			wantType[*connection.Unreachable](t, err)
			if is[*UnsureError](err) {
				t.Error("nothing was written, so the outcome is known")
			}
		})
	}
}
