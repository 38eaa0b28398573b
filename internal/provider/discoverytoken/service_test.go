// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discoverytoken

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
)

// service is a discovery service in memory.
type service struct {
	*httptest.Server

	mu       sync.Mutex
	minted   int
	asked    int
	wrote    int // requests other than GET
	refusing int // status of every response
	lost     bool
	members  []string
	size     int
}

func newService(t *testing.T) *service {
	t.Helper()
	s := &service{size: 3}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	if r.Method != http.MethodGet {
		s.wrote++
	}
	switch {
	case s.refusing != 0:
		w.Header().Set("Retry-After", "30")
		w.WriteHeader(s.refusing)
	case r.URL.Path == "/new":
		s.minted++
		_, _ = fmt.Fprintf(w, "%s/%s", s.URL, strings.Repeat(fmt.Sprintf("%02x", s.minted), 16))
	case s.lost:
		http.Error(w, "unable to GET token", http.StatusBadRequest)
	case strings.HasSuffix(r.URL.Path, "/_config/size"):
		_, _ = fmt.Fprintf(w, `{"action":"get","node":{"value":"%d"}}`, s.size)
	default:
		_, _ = fmt.Fprintf(w, `{"action":"get","node":{"key":%q,"dir":true,"nodes":[%s]}}`, r.URL.Path, strings.Join(s.members, ","))
	}
}

func (s *service) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func TestService(t *testing.T) {
	server := newService(t)
	config := attributes{"size": 3, "protocol": "service", "service_url": server.URL}
	s := newSession(t, realProvider(t), nil) // needs no endpoints
	p := s.plan(config)
	wantAction(t, p, "create")
	for path, want := range map[string]string{"url": "(unknown)", "token": "(unknown)", "prefix": "", "service_url": server.URL} {
		if got := driver.Attribute(p.value, path); got != want {
			t.Errorf("planned %s: got %q, want %q", path, got, want)
		}
	}
	want(t, s.carryOut(p))
	wantAttribute(t, s, server.URL+"/"+firstToken, "url")
	wantAttribute(t, s, firstToken, "token")
	wantAttribute(t, s, server.URL+"/"+firstToken, "environment", "ETCD_DISCOVERY")
	wantAttribute(t, s, "exit", "environment", "ETCD_DISCOVERY_FALLBACK")
	wantAttribute(t, s, "", "environment", "ETCD_DISCOVERY_TOKEN")
	for range 100 {
		want(t, s.refresh())
		wantAction(t, s.plan(config), "no-op")
	}
	if server.minted != 1 || server.wrote != 0 {
		t.Errorf("minted %d tokens, want 1; wrote %d times, want none", server.minted, server.wrote)
	}

	// The service cannot find the token, or claims so: neither leads to a decision.
	server.set(func() { server.lost = true })
	want(t, s.refresh(), "warning: The discovery service cannot find the token")
	wantAction(t, s.plan(config), "no-op")
	server.set(func() { server.lost, server.refusing = false, http.StatusServiceUnavailable })
	want(t, s.refresh(), "warning: Discovery token not checked")

	// A change before completion leaves the old token in the service.
	server.set(func() { server.refusing, server.size = 0, 5 })
	const kept = "warning: Discovery token forgotten, not removed"
	config["size"] = 5
	p = s.plan(config)
	wantAction(t, p, "replace")
	want(t, s.carryOut(p), kept, upTo36)
	wantAttribute(t, s, secondToken, "token")

	server.set(func() {
		for i, name := range []string{"c", "a", "b", "d", "e", "late"} {
			server.members = append(server.members, fmt.Sprintf(`{"key":"/x/%x","value":"%s=http://%s.example:2380","createdIndex":%d}`, 0xff-i, name, name, 10+i))
		}
	})
	want(t, s.refresh())
	wantAttribute(t, s, `tftypes.Bool<"true">`, "complete")
	if members := driver.Attribute(s.state(), "members"); strings.Contains(members, "late") || strings.Index(members, `"c"`) > strings.Index(members, `"a"`) {
		t.Errorf("members: got %s", members)
	}
	asked := server.asked
	server.set(func() { server.lost = true })
	want(t, s.refresh())
	config["size"] = 1
	wantAction(t, s.plan(config), "no-op")
	want(t, s.destroy(), kept)
	if server.asked != asked {
		t.Error("the service was asked for a complete token")
	}
}

func TestServiceRefuses(t *testing.T) {
	server := newService(t)
	config := attributes{"size": 3, "protocol": "service", "service_url": server.URL}
	s := newSession(t, realProvider(t), nil)
	server.refusing = http.StatusTooManyRequests
	want(t, s.carryOut(s.plan(config)), "error: The discovery service gave no usable answer")
	server.refusing = http.StatusInternalServerError
	want(t, s.carryOut(s.plan(config)), "error: The discovery service gave no usable answer")
	if server.asked != 2 || !s.state().IsNull() {
		t.Errorf("asked %d times, state %s: want once for each apply, and none", server.asked, s.state())
	}
}

// In whatever notation the URL is written, the token is read at its own URL.
func TestServiceImport(t *testing.T) {
	server := newService(t)
	for _, end := range []string{"", "/", "//"} {
		s := newSession(t, realProvider(t), nil)
		want(t, s.importState("service:"+server.URL+"/"+firstToken+end))
		wantAttribute(t, s, server.URL, "service_url")
		wantAttribute(t, s, server.URL+"/"+firstToken, "url")
		wantAction(t, s.plan(attributes{"size": 3, "protocol": "service", "service_url": server.URL}), "no-op")
	}

	server.lost = true
	want(t, newSession(t, realProvider(t), nil).importState("service:"+server.URL+"/"+secondToken),
		"error: The discovery service gave no usable answer")
}
