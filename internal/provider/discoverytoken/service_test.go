// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discoverytoken

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
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
	want(t, s.refresh(), "warning: The discovery service cannot find the token: "+server.URL+" answers \"unable to GET token\" for token "+firstToken+". "+
		"It says so of a token that it has deleted, and also while its own storage fails, so the state is kept. "+
		"If the cluster has formed, no action is needed.\n\nIf it never formed and the service keeps saying so, or if the cluster is gone for good, destroy what is left of it and start again:\n\n"+
		"  terraform destroy -refresh=false\n  terraform apply")
	wantAction(t, s.plan(config), "no-op")
	server.set(func() { server.lost, server.refusing = false, http.StatusServiceUnavailable })
	want(t, s.refresh(), "warning: Discovery token not checked: What the state says of token "+firstToken+" is kept as it is. "+
		"What each endpoint answered: "+server.URL+"/"+firstToken+" answered 503 Service Unavailable (Retry-After: 30).")

	// A change before completion leaves the old token in the service.
	server.set(func() { server.refusing, server.size = 0, 5 })
	kept := func(token string) string {
		return "warning: Discovery token forgotten, not removed: A discovery service does not delete tokens on request. Token " + token + " stays at " + server.URL +
			" until the service collects it."
	}
	config["size"] = 5
	p = s.plan(config)
	wantAction(t, p, "replace")
	want(t, s.carryOut(p), kept(firstToken), upTo36("service"))
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
	want(t, s.destroy(), kept(secondToken))
	if server.asked != asked {
		t.Error("the service was asked for a complete token")
	}
}

func TestServiceRefuses(t *testing.T) {
	server := newService(t)
	config := attributes{"size": 3, "protocol": "service", "service_url": server.URL}
	s := newSession(t, realProvider(t), nil)
	server.refusing = http.StatusTooManyRequests
	want(t, s.carryOut(s.plan(config)), "error: The discovery service gave no usable answer: Cannot create the token: "+server.URL+"/new?*** answered 429 Too Many Requests (Retry-After: 30). "+
		"It limits how often it may be asked: wait as long as Retry-After says (in seconds, unless it is a date), then apply again.")
	server.refusing = http.StatusInternalServerError
	want(t, s.carryOut(s.plan(config)), "error: The discovery service gave no usable answer: Cannot create the token: "+server.URL+"/new?*** answered 500 Internal Server Error (Retry-After: 30). "+
		"It is not asked again in this run, because every request makes another token. Apply again to ask once more.")
	if server.asked != 2 || !s.state().IsNull() {
		t.Errorf("asked %d times, state %s: want once for each apply, and none", server.asked, s.state())
	}
}

// Whatever a service responds, the error contains the response, and no token is
// kept.
func TestServiceNonsense(t *testing.T) {
	text := func(kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, _ = io.WriteString(w, body)
		}
	}
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"404":       {http.NotFound, "answered 404 Not Found"},
		"HTML":      {text("text/html", "<html></html>"), "answered with text/html instead of the URL of a token"},
		"empty":     {text("text/plain", ""), "answered with nothing"},
		"10 MB":     {text("text/plain", strings.Repeat("x", 10<<20)), "answered with more than 1024 bytes"},
		"redirects": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/new", http.StatusFound) }, "redirects more than 5 times"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(test.handler)
			defer server.Close()
			config := attributes{"size": 3, "protocol": "service", "service_url": server.URL}
			s := newSession(t, realProvider(t), nil)
			want(t, s.carryOut(s.plan(config)), "error: The discovery service gave no usable answer: Cannot create the token: "+server.URL+"/new?*** "+test.want+". "+
				"It is not asked again in this run, because every request makes another token. Apply again to ask once more.")
			if !s.state().IsNull() {
				t.Errorf("there is a state: %s", s.state())
			}
		})
	}
}

// A server without the v2 API responds "404 page not found".
func TestV2IsOff(t *testing.T) {
	registry := etcdtest.Start(t, 1, etcdtest.Options{Version: etcdtest.V36})
	s := newSession(t, realProvider(t), registry.Endpoints())
	want(t, s.carryOut(s.plan(attributes{"size": 3, "protocol": "v2"})), "error: The discovery cluster does not answer: Cannot create the token; nothing was changed. "+
		"What each endpoint answered: "+registry.Endpoints()[0]+": does not serve the v2 API; etcd 3.4 and 3.5 do with --enable-v2, 3.6 and later never. Check that the discovery cluster runs and can be reached from here, then apply again.")
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
		"error: The discovery service gave no usable answer: Cannot import the token: "+server.URL+"/"+secondToken+" answered 400 unable to GET token. Nothing was changed.")
}
