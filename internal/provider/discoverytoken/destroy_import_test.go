// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discoverytoken

import (
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/discovery"
)

func TestDestroy(t *testing.T) {
	denied := &connection.Error{Endpoint: "http://10.0.0.1:2379", Kind: connection.PermissionDenied}
	for name, c := range map[string]struct {
		registered []string
		set        func(*fakeRegistry, *session)
		said       []string
		kept       bool // in the state
		left       bool // in the discovery cluster
	}{
		"nobody registered": {},
		"incomplete":        {registered: []string{"c", "a"}, said: []string{"warning: Removed an incomplete discovery token"}},
		"complete":          {registered: []string{"c", "a", "b"}, set: func(_ *fakeRegistry, s *session) { want(t, s.refresh()) }},
		"gone already":      {set: func(f *fakeRegistry, _ *session) { f.forget(firstToken) }},
		"unreachable": {
			set:  func(f *fakeRegistry, _ *session) { f.statusErr = unreachable() },
			said: []string{"warning: Discovery token forgotten, not removed"}, left: true,
		},
		"other keys": {
			set: func(f *fakeRegistry, _ *session) {
				f.deleteErr = &discovery.OthersError{Keys: []string{"/_etcd/registry/" + firstToken + "/more"}}
			},
			said: []string{"warning: Keys were left below the discovery token"}, left: true,
		},
		"denied": {
			set:  func(f *fakeRegistry, _ *session) { f.deleteErr = denied },
			said: []string{"error: The discovery cluster denies access"}, kept: true, left: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			fake, s := created(t)
			fake.register(firstToken, c.registered...)
			if c.set != nil {
				c.set(fake, s)
			}
			want(t, s.destroy(), c.said...)
			if s.state().IsNull() == c.kept || len(fake.tokens) > 0 != c.left {
				t.Errorf("state %s, discovery cluster %v", s.state(), fake.tokens)
			}
		})
	}
}

// A token that was completed after the plan is not replaced, although it may be
// removed.
func TestCompletedSinceThePlan(t *testing.T) {
	fake, s := created(t)
	p := s.plan(attributes{"size": 5})
	wantAction(t, p, "replace")
	fake.register(firstToken, "b", "a", "c")
	want(t, s.carryOut(p), "error: The discovery token is complete")
	if len(fake.tokens) != 1 || s.state().IsNull() {
		t.Errorf("registry %v, state %s: want the token in both", fake.tokens, s.state())
	}
	want(t, s.refresh())
	wantAction(t, s.plan(attributes{"size": 5}), "no-op")
	want(t, s.destroy())
}

func TestImport(t *testing.T) {
	fake := newFake()
	fake.tokens["theirs"] = discovery.Status{Size: 3}
	fake.register("theirs", "a")
	s := newSession(t, fakeProvider(fake), registryEndpoints)
	want(t, s.importState("theirs"))
	for path, value := range map[string]string{
		"id": "theirs", "token": "theirs", "prefix": "/_etcd/registry", "protocol": "v3", "bootstrap.environment.ETCD_DISCOVERY_TOKEN": "theirs",
	} {
		wantAttribute(t, s, value, strings.Split(path, ".")...)
	}
	wantAttribute(t, s, `tftypes.Number<"3">`, "size")
	wantAction(t, s.plan(ofThree), "no-op")
	wantAction(t, s.plan(attributes{"size": 5}), "replace")

	other := newSession(t, fakeProvider(fake), registryEndpoints)
	want(t, other.importState("/my/registry:theirs"))
	wantAttribute(t, other, "/my/registry", "prefix")

	for id, want := range map[string]imported{
		"abc":        {protocol: "v3", prefix: "/_etcd/registry", token: "abc"},
		"v2:abc":     {protocol: "v2", prefix: "/_etcd/registry", token: "abc"},
		"v2:/my:abc": {protocol: "v2", prefix: "/my", token: "abc"},
		"service:https://d.example/" + firstToken: {protocol: "service", serviceURL: "https://d.example", token: firstToken, url: "https://d.example/" + firstToken},
	} {
		got, problem := parseImportID(id)
		if got != want || problem != "" {
			t.Errorf("%s: got %+v, %s; want %+v", id, got, problem, want)
		}
		if want.protocol != "service" && importID(want.protocol, want.prefix, want.token) != id {
			t.Errorf("%s is not what an error would propose: %s", id, importID(want.protocol, want.prefix, want.token))
		}
	}
}

func TestImportFailures(t *testing.T) {
	for id, text := range map[string]string{
		"a/b":                      "error: Invalid import ID",
		"my:token":                 "error: Invalid import ID",
		"/my:":                     "error: Invalid import ID",
		"service:https://host/new": "error: Invalid import ID",
		"not-there":                "error: No such discovery token",
	} {
		want(t, newSession(t, fakeProvider(newFake()), registryEndpoints).importState(id), text)
	}
	fake := newFake()
	fake.statusErr = unreachable()
	want(t, newSession(t, fakeProvider(fake), registryEndpoints).importState("theirs"),
		"error: The discovery cluster does not answer")
}
