// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/proto"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdsim"
)

// movers is a cluster of a, b and c, whose peer URLs change in place.
type movers struct {
	*world
	ws   *driver.Workspace
	urls map[string]string
}

func moving(t *testing.T, f func(m *movers)) {
	t.Helper()
	simulate(t, 1, "a b c", func(w *world) {
		m := &movers{w, w.adopt("a b c"), map[string]string{}}
		for _, name := range []string{"a", "b", "c"} {
			m.urls[name] = etcdsim.PeerURL(name)
		}
		f(m)
	})
}

// newURL is an address of a member at which nothing listens yet.
func newURL(name string) string { return "http://" + name + ".example:3380" }

// change plans and applies other peer URLs of a member.
func (m *movers) change(ctx context.Context, run, name, url string) error {
	m.urls[name] = url
	m.ws.Resources = nil
	for _, name := range slices.Sorted(maps.Keys(m.urls)) {
		r := member(name)
		r.Values["peer_urls"] = []any{m.urls[name]}
		m.ws.Resources = append(m.ws.Resources, r)
	}
	_, r := m.ws.Up(ctx, m.start(run))
	return r.Err()
}

// mustRefuse fails the test unless the change is refused because another one is pending,
// and changes nothing.
func (m *movers) mustRefuse(name, url string) {
	m.Helper()
	was, before := m.listed(name), m.urls[name]
	if err := m.change(m.Context(), "refused", name, url); err == nil || !strings.Contains(err.Error(), "pending") || m.listed(name) != was {
		m.Errorf("%s at %s: %v, listed at %s", name, url, err, m.listed(name))
	}
	m.urls[name] = before
}

func (w *world) listed(name string) string {
	for _, listed := range w.cluster.Members() {
		if listed.Name == name {
			return listed.PeerURLs[0]
		}
	}
	return ""
}

// restart starts the process of a member again, at its own URL or another one.
func (w *world) restart(name, url string) {
	w.members[name].PowerOff()
	if url != "" {
		w.members[name].PeerURL = url
	}
	w.must(w.members[name].Start())
	w.rest(10 * time.Second)
}

func (w *world) records() int {
	return len(slices.DeleteFunc(w.keys(), func(k string) bool { return !strings.Contains(k, "/peer_urls/") }))
}

// statement returns what the refusal of a change asks the operator to state.
func (w *world) statement() string {
	w.Helper()
	for _, p := range w.cluster.Processes() {
		c := w.network.Run("test").Client(p.ClientURL, p.ClientURL)
		for _, key := range w.keys() {
			if got, err := c.Get(w.Context(), key); err == nil && strings.Contains(key, "/peer_urls/") && len(got.Kvs) == 1 {
				return fmt.Sprintf("%s:%d", key[strings.LastIndex(key, "/")+1:], got.Kvs[0].ModRevision)
			}
		}
	}
	w.Fatal("there is no record")
	return ""
}

// Wherever a run is killed, a change that was made is on record, and nothing else keeps the
// next one from being made.
func TestPendingPeerURLsKilled(t *testing.T) {
	t.Parallel()
	moments := 0
	for n := 1; n < 200; n++ {
		over := false
		moving(t, func(m *movers) {
			ctx, end := context.WithCancel(m.Context())
			defer end()
			seen := 0
			pass := func(call etcdsim.Call, err error) error {
				_, moved := call.Request.(*pb.MemberUpdateRequest)
				if !strings.HasPrefix(call.Run, "killed.") || !moved && !changes(call.Request) && !writes(call.Request) {
					return err
				}
				if seen++; seen >= n {
					end()
					return errKilled
				}
				return err
			}
			before := m.network.Before
			m.network.Before = func(c context.Context, call etcdsim.Call) error { return pass(call, before(c, call)) }
			m.network.After = func(_ context.Context, call etcdsim.Call, _ proto.Message, err error) error { return pass(call, err) }
			over = m.change(ctx, "killed", "a", newURL("a")) == nil
			m.rest(2 * claim.LockTTL)
			if m.listed("a") == newURL("a") {
				m.mustRefuse("b", newURL("b"))
				return
			}
			m.urls["a"] = etcdsim.PeerURL("a")
			m.must(m.change(m.Context(), "next", "b", newURL("b")))
		})
		if moments = n; over || t.Failed() {
			break
		}
	}
	if moments < 6 {
		t.Errorf("%d moments", moments)
	}
}
