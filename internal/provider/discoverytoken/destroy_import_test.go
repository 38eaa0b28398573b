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
	setUp := func(t *testing.T, registered ...string) (*fakeRegistry, *session) {
		fake := newFake()
		s := newSession(t, fakeProvider(fake), registryEndpoints)
		s.up(ofThree)
		fake.register(firstToken, registered...)
		return fake, s
	}
	gone := func(t *testing.T, fake *fakeRegistry, s *session) {
		t.Helper()
		if !s.state().IsNull() || len(fake.tokens) != 0 {
			t.Errorf("state %s, registry %v: want nothing", s.state(), fake.tokens)
		}
	}
	t.Run("nobody registered", func(t *testing.T) {
		fake, s := setUp(t)
		want(t, s.destroy())
		gone(t, fake, s)
	})
	t.Run("incomplete", func(t *testing.T) {
		fake, s := setUp(t, "c", "a")
		want(t, s.destroy(), "warning: Removed an incomplete discovery token")
		gone(t, fake, s)
	})
	t.Run("complete", func(t *testing.T) {
		fake, s := setUp(t, "c", "a", "b")
		want(t, s.refresh())
		want(t, s.destroy())
		gone(t, fake, s)
	})
	t.Run("gone already", func(t *testing.T) {
		fake, s := setUp(t)
		fake.forget(firstToken)
		want(t, s.destroy())
		gone(t, fake, s)
	})
	t.Run("unreachable", func(t *testing.T) {
		fake, s := setUp(t)
		fake.statusErr = unreachable()
		want(t, s.destroy(), "warning: Discovery token forgotten, not removed")
		if !s.state().IsNull() {
			t.Error("still in the state")
		}
	})
	t.Run("other keys", func(t *testing.T) {
		fake, s := setUp(t)
		fake.deleteErr = &discovery.OthersError{Keys: []string{"/_etcd/registry/" + firstToken + "/more"}}
		want(t, s.destroy(), "warning: Keys were left below the discovery token")
		if !s.state().IsNull() {
			t.Error("still in the state")
		}
	})
	t.Run("denied", func(t *testing.T) {
		fake, s := setUp(t)
		fake.deleteErr = &connection.Error{Endpoint: "http://10.0.0.1:2379", Kind: connection.PermissionDenied}
		want(t, s.destroy(), "error: The discovery cluster denies access")
		if s.state().IsNull() {
			t.Error("out of the state, although it is still there")
		}
	})
}

// A token that was completed after the plan is not replaced, although it may be
// removed.
func TestCompletedSinceThePlan(t *testing.T) {
	fake := newFake()
	s := newSession(t, fakeProvider(fake), registryEndpoints)
	s.up(ofThree)
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
