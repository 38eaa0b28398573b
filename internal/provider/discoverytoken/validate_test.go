// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discoverytoken

import (
	"strings"
	"testing"
)

func TestBadInput(t *testing.T) {
	s := newSession(t)
	check := func(config attributes, texts ...string) {
		t.Helper()
		want(t, s.validate(config), texts...)
	}
	check(attributes{"size": 0}, "error: Invalid Attribute Value")
	check(attributes{"size": -1}, "error: Invalid Attribute Value")
	check(attributes{"size": 1000000000}, "error: Invalid Attribute Value")
	check(attributes{"size": 3, "prefix": "registry"}, "error: Invalid prefix")
	for _, protocol := range []string{"v4", "V3", ""} {
		check(attributes{"size": 3, "protocol": protocol}, "error: Invalid Attribute Value Match")
	}
	access := map[string]any{"ca_cert": "/etc/ca.pem", "cert": nil, "key": nil, "username": nil}
	const unused = "error: Argument without effect"
	check(attributes{"size": 3, "service_url": "https://discovery.etcd.io"}, unused)
	check(attributes{"size": 3, "protocol": "v2", "machine_access": access}, unused)
	check(attributes{"size": 3, "protocol": "service", "prefix": "/my", "advertised_endpoints": []string{"http://10.0.0.1:2379"}, "machine_access": access}, unused, unused, unused)
	check(attributes{"size": 3, "protocol": "service", "service_url": "discovery.example"},
		"error: Invalid URL of a discovery service")
	check(attributes{"size": 3, "advertised_endpoints": []string{}}, "error: Invalid Attribute Value")
	check(attributes{"size": 3, "advertised_endpoints": []string{"http://10.0.0.1:2379", "ftp://10.0.0.2"}},
		"error: Invalid endpoint: advertised_endpoints")

	machine := func(name, value string) attributes {
		with := map[string]any{"ca_cert": nil, "cert": nil, "key": nil, "username": nil}
		with[name] = value
		return attributes{"size": 3, "machine_access": with}
	}
	for _, name := range []string{"ca_cert", "cert", "key"} {
		for _, value := range []string{"", "ca.pem", "/x\nruncmd: [reboot]", "/x\u0085y", "/é", "/x\x1b[2J"} {
			check(machine(name, value), "error: Invalid path in machine_access")
		}
		check(machine(name, "/etc/my pki/$(id).pem"))
	}
	check(machine("username", "root:swordfish"), "error: Password in machine_access")
	check(machine("username", "a\nb"), "error: Invalid username in machine_access")
	for _, endpoint := range []string{"http://$(id):2379", "http://a;reboot", "http://a\u0085b:2379", `http://a"b`} {
		if got := s.validate(attributes{"size": 3, "advertised_endpoints": []string{endpoint}}); len(got) != 1 || !strings.Contains(got[0], "Invalid endpoint: advertised_endpoints") {
			t.Errorf("%q: %q", endpoint, got)
		}
	}
	// Valid, or not known yet.
	for _, config := range []attributes{
		{"size": 1}, {"size": 99}, {"size": unknown{}},
		{"size": 3, "prefix": unknown{}, "protocol": unknown{}, "service_url": unknown{}},
	} {
		check(config)
	}
}

// upTo36 is the advice about a protocol that etcd 3.7 does not know.
const upTo36 = "warning: For members up to etcd 3.6"

func TestAdviceAtPlan(t *testing.T) {
	s := newSession(t)
	for _, test := range []struct {
		config attributes
		want   []string
	}{
		{attributes{"size": 1}, nil},
		{attributes{"size": 9}, nil},
		{attributes{"size": unknown{}}, nil},
		{attributes{"size": 2}, []string{"warning: Even number of initial members"}},
		{attributes{"size": 4}, []string{"warning: Even number of initial members"}},
		{attributes{"size": 11}, []string{"warning: Many initial members"}},
		{attributes{"size": 3, "protocol": "v2"}, []string{upTo36}},
		{attributes{"size": 3, "protocol": "service", "service_url": "https://discovery.example"}, []string{upTo36}},
		{attributes{"size": 3, "protocol": "service"}, []string{"warning: The public discovery service is no longer maintained"}},
		{attributes{"size": 3, "prefix": "/my"}, []string{"warning: Members look for the token elsewhere"}},
	} {
		_, got := s.plan(test.config)
		want(t, got, test.want...)
	}
	// There is no advice about an existing token.
	s.up(attributes{"size": 2})
	_, got := s.plan(attributes{"size": 2})
	want(t, got)
}
