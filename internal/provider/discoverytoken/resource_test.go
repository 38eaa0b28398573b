// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discoverytoken

import (
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/discovery"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

var (
	registryEndpoints = []string{"http://10.0.0.1:2379", "http://10.0.0.2:2379"}
	ofThree           = attributes{"size": 3}
)

// want compares diagnostics, each in the form "error: Summary" or with all its text.
// Package text tests the words. They show the first 8 digits of a token.
func want(t *testing.T, got []string, want ...string) {
	t.Helper()
	masked := strings.NewReplacer(firstToken, firstToken[:8]+"…", secondToken, secondToken[:8]+"…")
	if !slices.EqualFunc(got, want, func(got, want string) bool { return strings.HasPrefix(got+": ", masked.Replace(want)+": ") }) {
		t.Errorf("diagnostics:\n got %s\nwant %s", strings.Join(got, "\n     "), strings.Join(want, "\n     "))
	}
}

func wantAttribute(t *testing.T, s interface{ state() tftypes.Value }, want string, path ...string) {
	t.Helper()
	if got := driver.Attribute(s.state(), path...); got != want {
		t.Errorf("%s: got %s, want %s", strings.Join(path, "."), got, want)
	}
}

func wantAction(t *testing.T, p planned, want string) {
	t.Helper()
	if p.action != want {
		t.Errorf("planned %s, want %s\nplan %s", p.action, want, p.value)
	}
}

// wantRefusal fails the test unless a plan is refused with that text alone.
func wantRefusal(t *testing.T, p planned, refused text.Message) {
	t.Helper()
	want(t, p.texts, "error: "+refused.Summary+": "+refused.Detail)
}

// created returns a session with a token for three members, which are not registered.
func created(t *testing.T) (*fakeRegistry, *session) {
	t.Helper()
	fake := newFake()
	s := newSession(t, fakeProvider(fake), registryEndpoints)
	s.up(ofThree)
	return fake, s
}

func TestCreate(t *testing.T) {
	fake := newFake()
	s := newSession(t, fakeProvider(fake), registryEndpoints)
	p := s.up(ofThree)
	wantAction(t, p, "create")
	for path, want := range map[string]string{
		"token": "(unknown)", "id": "(unknown)", "environment": "(unknown)", "url": "",
		"protocol": "v3", "prefix": "/_etcd/registry", "service_url": "",
		"bootstrap.environment": "(unknown)",
	} {
		if got := driver.Attribute(p.value, strings.Split(path, ".")...); got != want {
			t.Errorf("planned %s: got %q, want %q", path, got, want)
		}
	}
	for _, path := range []string{"size", "complete", "members", "bootstrap.size", "bootstrap.complete"} {
		path := strings.Split(path, ".")
		if got := driver.Attribute(p.value, path...); strings.Contains(got, "nknown") || got != driver.Attribute(s.state(), path...) {
			t.Errorf("planned %s: got %q, want what was applied: %q", path, got, driver.Attribute(s.state(), path...))
		}
	}
	wantAttribute(t, s, firstToken, "token")
	wantAttribute(t, s, firstToken, "id")
	wantAttribute(t, s, firstToken, "environment", "ETCD_DISCOVERY_TOKEN")
	wantAttribute(t, s, "http://10.0.0.1:2379,http://10.0.0.2:2379", "environment", "ETCD_DISCOVERY_ENDPOINTS")
	wantAttribute(t, s, driver.Attribute(s.state(), "environment"), "bootstrap", "environment")
	if fake.tokens[firstToken].Size != 3 {
		t.Errorf("made %+v, want size 3", fake.tokens)
	}
	want(t, s.refresh())
	calls := fake.calls["status"]
	wantAction(t, s.plan(ofThree), "no-op")
	if fake.calls["status"] != calls {
		t.Error("a plan without a change asked the discovery cluster")
	}
}

// Before completion each of these creates a new token, after it none does.
func TestChanges(t *testing.T) {
	base := attributes{"size": 3, "prefix": "/one"}
	changes := map[string]attributes{
		"another size":       {"size": 5, "prefix": "/one"},
		"another prefix":     {"size": 3, "prefix": "/two"},
		"size not known yet": {"size": unknown{}, "prefix": "/one"},
	}
	for _, complete := range []bool{false, true} {
		fake := newFake()
		s := newSession(t, fakeProvider(fake), registryEndpoints)
		s.carryOut(s.plan(base))
		action := "replace"
		if complete {
			action = "no-op"
			fake.register(firstToken, "c", "a", "b")
			want(t, s.refresh())
			wantAttribute(t, s, `tftypes.Bool<"true">`, "complete")
			wantAttribute(t, s, `tftypes.Bool<"true">`, "bootstrap", "complete")
		}
		for name, config := range changes {
			if p := s.plan(config); p.action != action {
				t.Errorf("complete %t, %s: planned %s, want %s", complete, name, p.action, action)
			}
		}
	}
}

func TestAdvertisedEndpointsChangeInPlace(t *testing.T) {
	fake, s := created(t)
	p := s.up(attributes{"size": 3, "advertised_endpoints": []string{"https://registry.example:2379"}})
	wantAction(t, p, "update")
	wantAttribute(t, s, firstToken, "token")
	wantAttribute(t, s, "https://registry.example:2379", "environment", "ETCD_DISCOVERY_ENDPOINTS")
	wantAction(t, s.up(ofThree), "update")
	wantAttribute(t, s, "http://10.0.0.1:2379,http://10.0.0.2:2379", "environment", "ETCD_DISCOVERY_ENDPOINTS")
	if fake.calls["create"] != 1 {
		t.Errorf("calls: %v, want one create", fake.calls)
	}
}

// The access of a machine consists of the names of files and of a user.
func TestMachineAccess(t *testing.T) {
	_, s := created(t)
	p := s.up(attributes{"size": 3, "machine_access": map[string]any{
		"ca_cert": "/etc/etcd/ca.pem", "cert": "/etc/etcd/client.pem", "key": "/etc/etcd/client-key.pem", "username": "registrar",
	}})
	wantAction(t, p, "update")
	for name, value := range map[string]string{
		"ETCD_DISCOVERY_CACERT": "/etc/etcd/ca.pem", "ETCD_DISCOVERY_CERT": "/etc/etcd/client.pem",
		"ETCD_DISCOVERY_KEY": "/etc/etcd/client-key.pem", "ETCD_DISCOVERY_USER": "registrar", "ETCD_DISCOVERY_TOKEN": firstToken,
	} {
		wantAttribute(t, s, value, "environment", name)
		wantAttribute(t, s, value, "bootstrap", "environment", name)
	}
}

// A complete token is not read again: the token, or the discovery cluster, may be gone.
func TestCompleteIsSticky(t *testing.T) {
	fake, s := created(t)
	fake.register(firstToken, "c", "a", "b")
	want(t, s.refresh())
	wantAttribute(t, s, `tftypes.Bool<"true">`, "complete")
	members := driver.Attribute(s.state(), "members")
	if i, j := strings.Index(members, `"c"`), strings.Index(members, `"a"`); i < 0 || j < i || !strings.Contains(members, `"http://c.example:2380"`) {
		t.Errorf("members are not in order of registration: %s", members)
	}
	asked := fake.calls["status"]

	fake.forget(firstToken)
	want(t, s.refresh())
	wantAction(t, s.plan(ofThree), "no-op")
	fake.statusErr = unreachable()
	want(t, s.refresh())
	wantAction(t, s.plan(ofThree), "no-op")
	wantAttribute(t, s, members, "members")
	if fake.calls["status"] != asked {
		t.Error("the discovery cluster was asked for a complete token")
	}
}

func TestVanishedBeforeCompletion(t *testing.T) {
	fake, s := created(t)
	fake.forget(firstToken)
	want(t, s.refresh(), "warning: Discovery token removed from the discovery cluster")
	wantAction(t, s.plan(ofThree), "no-op")
	wantRefusal(t, s.plan(attributes{"size": 5}), text.DiscoveryMayHaveFormed("replace", text.DiscoveryTokenGone))
	want(t, s.destroy())
	wantAction(t, s.up(ofThree), "create")
	wantAttribute(t, s, secondToken, "token")
}

func TestUnknownProviderConfiguration(t *testing.T) {
	fake, s := created(t)
	later := s.clone(unknown{})
	calls := fake.calls["status"]
	want(t, later.refresh())
	wantAction(t, later.plan(ofThree), "no-op")
	wantRefusal(t, later.plan(attributes{"size": 5}), text.DiscoveryMayHaveFormed("replace", text.DiscoveryEndpointsLater))
	fresh := newSession(t, fakeProvider(fake), unknown{})
	wantAction(t, fresh.plan(ofThree), "create")
	if fake.calls["status"] != calls {
		t.Error("the discovery cluster was asked although nobody knows where it is")
	}
}

func TestSizeOverwritten(t *testing.T) {
	fake, s := created(t)
	fake.resize(firstToken, 5)
	want(t, s.refresh(), "warning: The size of the discovery token was changed")
	p := s.plan(ofThree)
	wantAction(t, p, "replace")
	want(t, s.carryOut(p))
	wantAttribute(t, s, secondToken, "token")
	if len(fake.tokens) != 1 {
		t.Errorf("in the discovery cluster: %v, want the second token alone", fake.tokens)
	}

	fake.statusErr = &discovery.BadSizeError{Value: "abc"}
	want(t, s.refresh(), "warning: Discovery token has an invalid size")
	wantAction(t, s.plan(ofThree), "replace")
}

func TestCreateFailures(t *testing.T) {
	for name, test := range map[string]struct {
		err    error
		config attributes
		want   string
	}{
		"unreachable":            {unreachable(), ofThree, "error: The discovery cluster does not answer"},
		"denied":                 {&connection.Error{Endpoint: "http://10.0.0.1:2379", Kind: connection.WrongPassword}, ofThree, "error: The discovery cluster denies access"},
		"occupied":               {&discovery.OthersError{Keys: []string{"/_etcd/registry/pods/a"}, More: 7}, ofThree, "error: The discovery token's place is not empty"},
		"exists":                 {&discovery.ExistsError{Size: 5}, ofThree, "error: The discovery token exists already"},
		"exists with a bad size": {&discovery.ExistsError{}, attributes{"size": 3, "prefix": "/my"}, "error: The discovery token exists already"},
		"other":                  {plainError("boom"), ofThree, "error: Discovery failed"},
	} {
		t.Run(name, func(t *testing.T) {
			fake := newFake()
			fake.createErr = test.err
			s := newSession(t, fakeProvider(fake), registryEndpoints)
			want(t, s.carryOut(s.plan(test.config)), test.want)
			if !s.state().IsNull() {
				t.Error("there is a state, which Terraform would destroy at the next apply")
			}
		})
	}
	s := newSession(t, fakeProvider(newFake()), nil)
	want(t, s.carryOut(s.plan(ofThree)), "error: No discovery cluster to ask")
}

// The discovery cluster dies between the write and its response: the next apply
// uses the same token and does not create a second one.
func TestUnsureCreate(t *testing.T) {
	warning := "warning: Not known whether the token was written"
	for _, written := range []bool{true, false} {
		fake := newFake()
		fake.createErr, fake.lateCreate = unsure(), written
		s := newSession(t, fakeProvider(fake), registryEndpoints)
		want(t, s.carryOut(s.plan(ofThree)), warning)
		wantAttribute(t, s, firstToken, "token")

		// Still unreachable: no decision is made.
		fake.createErr, fake.statusErr = nil, unreachable()
		want(t, s.refresh(), "warning: Discovery token not checked")
		wantAction(t, s.plan(ofThree), "no-op")

		fake.statusErr = nil
		want(t, s.refresh())
		p := s.plan(ofThree)
		if written {
			wantAction(t, p, "no-op")
		} else {
			wantAction(t, p, "update")
			want(t, p.texts, "warning: The token was not written last time")
			want(t, s.carryOut(p))
		}
		wantAttribute(t, s, firstToken, "token")
		if len(fake.tokens) != 1 || fake.tokens[firstToken].Size != 3 {
			t.Errorf("in the discovery cluster: %v, want the first token alone", fake.tokens)
		}
		// From here on it behaves like any other token.
		want(t, s.refresh())
		wantAction(t, s.plan(ofThree), "no-op")
		fake.forget(firstToken)
		if len(s.refresh()) != 1 || s.state().IsNull() {
			t.Error("a token that was seen and then removed may have been complete: it must stay in the state, with a warning")
		}
	}
}
