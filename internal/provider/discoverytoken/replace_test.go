// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discoverytoken

import (
	"errors"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// taint plans for a tainted object.
func (s *session) taint(config attributes) planned {
	s.w.Taint(address)
	return s.plan(config)
}

// Only the discovery cluster has the information that a cluster has not formed,
// and only its response about this token proves it.
func TestReplacement(t *testing.T) {
	registered := []string{"a", "b", "c"}
	for name, c := range map[string]struct {
		set    func(fake *fakeRegistry)
		read   bool // the state is refreshed after that
		refuse *text.Message
	}{
		"none registered":               {},
		"two registered":                {set: func(f *fakeRegistry) { f.register(firstToken, "a", "b") }},
		"complete":                      {set: func(f *fakeRegistry) { f.register(firstToken, registered...) }, read: true, refuse: new(text.DiscoveryBootstrapped("replace", registered))},
		"complete, the state is behind": {set: func(f *fakeRegistry) { f.register(firstToken, registered...) }, refuse: new(text.DiscoveryBootstrapped("replace", registered))},
		"complete, the discovery cluster is gone": {
			set: func(f *fakeRegistry) { f.register(firstToken, registered...) }, read: true, refuse: new(text.DiscoveryBootstrapped("replace", registered)),
		},
		"unreachable": {
			set: func(f *fakeRegistry) { f.statusErr = unreachable() }, read: true,
			refuse: new(text.DiscoveryMayHaveFormed("replace", text.DiscoverySilent(unreachable()))),
		},
		"denied": {
			set: func(f *fakeRegistry) {
				f.statusErr = &connection.Error{Endpoint: "http://10.0.0.1:2379", Kind: connection.PermissionDenied}
			},
			refuse: new(text.DiscoveryMayHaveFormed("replace", text.DiscoverySilent(errors.New("http://10.0.0.1:2379: permission denied")))),
		},
		"removed": {set: func(f *fakeRegistry) { f.forget(firstToken) }, read: true, refuse: new(text.DiscoveryMayHaveFormed("replace", text.DiscoveryTokenGone))},
		"resized after all had registered": {
			set: func(f *fakeRegistry) { f.register(firstToken, registered...); f.resize(firstToken, 5) }, read: true,
			refuse: new(text.DiscoveryMayHaveFormed("replace", text.DiscoverySizeDoubtful(3, registered))),
		},
		"resized before": {set: func(f *fakeRegistry) { f.register(firstToken, "a", "b"); f.resize(firstToken, 5) }, read: true},
	} {
		t.Run(name, func(t *testing.T) {
			fake, s := created(t)
			if c.set != nil {
				c.set(fake)
			}
			if c.read {
				s.refresh()
			}
			if name == "complete, the discovery cluster is gone" {
				fake.statusErr = unreachable()
			}
			p := s.plan(ofThree, driver.Replace(address))
			if c.refuse != nil {
				wantRefusal(t, p, *c.refuse)
				fake.statusErr = nil
				if s.destroy(); !s.state().IsNull() {
					t.Error("the token cannot be destroyed")
				}
				return
			}
			want(t, p.texts)
			s.carryOut(p)
			wantAttribute(t, s, secondToken, "token")
		})
	}
}

// The plan of a tainted token looks like a first creation, so the check runs at
// its removal.
func TestTaint(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(fake *fakeRegistry)
		read bool
		want *text.Message
	}{
		"incomplete": {},
		"complete": {
			set: func(f *fakeRegistry) { f.register(firstToken, "a", "b", "c") }, read: true,
			want: new(text.DiscoveryBootstrapped("replace", []string{"a", "b", "c"})),
		},
		"complete, the state is behind": {
			set:  func(f *fakeRegistry) { f.register(firstToken, "a", "b", "c") },
			want: new(text.DiscoveryCompleted(firstToken, []string{"a", "b", "c"})),
		},
		"unreachable": {
			set:  func(f *fakeRegistry) { f.statusErr = unreachable() },
			want: new(text.DiscoveryMayHaveFormed("replace", text.DiscoverySilent(unreachable()))),
		},
		"removed": {
			set:  func(f *fakeRegistry) { f.forget(firstToken) },
			want: new(text.DiscoveryMayHaveFormed("replace", text.DiscoveryTokenGone)),
		},
	} {
		t.Run(name, func(t *testing.T) {
			fake, s := created(t)
			if c.set != nil {
				c.set(fake)
			}
			if c.read {
				s.refresh()
			}
			got := s.carryOut(s.taint(ofThree))
			if c.want == nil {
				want(t, got)
				wantAttribute(t, s, secondToken, "token")
				return
			}
			want(t, got, "error: "+c.want.Summary+": "+c.want.Detail)
			wantAttribute(t, s, firstToken, "token")
			if fake.calls["delete"] > 0 || fake.calls["create"] > 1 {
				t.Errorf("calls: %v", fake.calls)
			}
		})
	}
}

// Changed access to the discovery cluster is for machines that still wait for
// the token. The change is allowed while they are known to wait.
func TestChangeOfAccess(t *testing.T) {
	changed := attributes{"size": 3, "advertised_endpoints": []string{"https://registry.example:2379"}}
	fake, s := created(t)
	want(t, s.plan(changed).texts)
	fake.statusErr = unreachable()
	wantRefusal(t, s.plan(changed), text.DiscoveryMayHaveFormed("change", text.DiscoverySilent(unreachable())))
	fake.statusErr = nil
	fake.register(firstToken, "a", "b", "c")
	wantRefusal(t, s.plan(changed), text.DiscoveryBootstrapped("change", []string{"a", "b", "c"}))

	want(t, s.refresh())
	wantAction(t, s.up(changed), "update")
	wantAttribute(t, s, "https://registry.example:2379", "environment", "ETCD_DISCOVERY_ENDPOINTS")
}
