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

func (m *movers) listed(name string) string {
	for _, listed := range m.cluster.Members() {
		if listed.Name == name {
			return listed.PeerURLs[0]
		}
	}
	return ""
}

// restart starts the process of a member again, at its own URL or another one.
func (m *movers) restart(name, url string) {
	m.members[name].PowerOff()
	if url != "" {
		m.members[name].PeerURL = url
	}
	m.must(m.members[name].Start())
	m.rest(10 * time.Second)
}

func (m *movers) records() int {
	return len(slices.DeleteFunc(m.keys(), func(k string) bool { return !strings.Contains(k, "/peer_urls/") }))
}

// Three changes to addresses where nothing listens are stopped at the second one. Neither
// a month nor another state changes that. A restart at the new URL, a change back, or a
// statement of the operator ends it.
func TestPendingPeerURLs(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]func(m *movers){
		"the way to a lost quorum": func(m *movers) {
			m.rest(30 * 24 * time.Hour)
			m.mustRefuse("b", newURL("b"))
			m.ws = m.adopt("a b c") // another state
			m.mustRefuse("b", newURL("b"))
			m.restart("b", "")
			m.restart("c", "")
			if m.cluster.Leader() == nil {
				t.Error("the quorum is lost")
			}
		},
		"restarted": func(m *movers) {
			m.restart("a", newURL("a"))
			m.must(m.change(m.Context(), "next", "b", newURL("b")))
			m.restart("b", newURL("b"))
			m.must(m.change(m.Context(), "next", "c", newURL("c")))
			m.restart("c", newURL("c"))
			m.restart("b", "")
			m.restart("c", "")
			plan, r := m.ws.Plan(m.Context(), m.start("last"))
			m.ok(r)
			if m.cluster.Leader() == nil || len(plan.Actions()) > 0 {
				t.Errorf("a leader: %v, the next plan %v", m.cluster.Leader() != nil, plan.Actions())
			}
		},
		"restarted where nothing finds it": func(m *movers) {
			m.restart("a", "")
			m.mustRefuse("b", newURL("b"))
			m.must(m.change(m.Context(), "back", "a", etcdsim.PeerURL("a")))
			m.mustRefuse("b", newURL("b")) // which process listens where is not known
			m.restart("a", "")
			m.must(m.change(m.Context(), "next", "b", newURL("b")))
		},
		"changed back": func(m *movers) {
			m.must(m.change(m.Context(), "again", "a", "http://a.example:4380"))
			m.must(m.change(m.Context(), "back", "a", etcdsim.PeerURL("a")))
			if n := m.records(); n != 0 {
				t.Errorf("%d records are left", n)
			}
			m.must(m.change(m.Context(), "next", "b", newURL("b")))
		},
		"changed back with another member down": func(m *movers) {
			m.members["c"].PowerOff()
			m.rest(10 * time.Second)
			m.must(m.change(m.Context(), "back", "a", etcdsim.PeerURL("a")))
		},
		"stated": func(m *movers) {
			m.env["ETCD_PEER_URLS_IN_USE"] = fmt.Sprintf("%x:1", m.members["a"].ID()) // of an earlier change
			m.mustRefuse("b", newURL("b"))
			m.env["ETCD_PEER_URLS_IN_USE"] = m.statement()
			m.must(m.change(m.Context(), "next", "b", newURL("b")))
			m.env["ETCD_PEER_URLS_IN_USE"] = ""
			m.mustRefuse("c", newURL("c")) // b is pending now, and a no more
			m.restart("b", newURL("b"))
			m.must(m.change(m.Context(), "next", "c", newURL("c")))
		},
		"removed": func(m *movers) {
			m.ws.Resources = m.ws.Resources[1:]
			_, r := m.ws.Up(m.Context(), m.start("removed"))
			m.ok(r)
			if n := m.records(); n != 0 || m.list() != "b c" {
				t.Errorf("%d records are left, of the members %s", n, m.list())
			}
		},
		"another one is removed": func(m *movers) {
			m.ws.Resources = m.ws.Resources[:2]
			if _, r := m.ws.Up(m.Context(), m.start("refused")); r.Err() == nil || m.list() != "a b c" {
				t.Errorf("members %s: %v", m.list(), r)
			}
			m.members["c"].PowerOff() // a dead one can always go
			m.rest(10 * time.Second)
			_, r := m.ws.Up(m.Context(), m.start("removed"))
			m.ok(r)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			moving(t, func(m *movers) {
				m.must(m.change(m.Context(), "first", "a", newURL("a")))
				if m.listed("a") != newURL("a") || m.records() != 1 {
					t.Fatalf("a is listed at %s, with %d records", m.listed("a"), m.records())
				}
				m.must(m.change(m.Context(), "twice", "a", newURL("a")))
				f(m)
			})
		})
	}
}

// statement returns what the refusal of a change asks the operator to state.
func (m *movers) statement() string {
	m.Helper()
	for _, p := range m.cluster.Processes() {
		c := m.network.Run("test").Client(p.ClientURL, p.ClientURL)
		for _, key := range m.keys() {
			if got, err := c.Get(m.Context(), key); err == nil && strings.Contains(key, "/peer_urls/") && len(got.Kvs) == 1 {
				return fmt.Sprintf("%s:%d", key[strings.LastIndex(key, "/")+1:], got.Kvs[0].ModRevision)
			}
		}
	}
	m.Fatal("there is no record")
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
