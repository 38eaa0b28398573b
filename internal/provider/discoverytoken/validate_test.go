// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discoverytoken

import (
	"strings"
	"testing"
)

func TestBadInput(t *testing.T) {
	s := newSession(t, fakeProvider(newFake()), registryEndpoints)
	check := func(config attributes, texts ...string) {
		t.Helper()
		want(t, s.validate(config), texts...)
	}
	sizeText := ". Expected the number of members that form the cluster together, from 1 to 99."
	check(attributes{"size": 0}, "error: Invalid size: size is 0"+sizeText)
	check(attributes{"size": -1}, "error: Invalid size: size is -1"+sizeText)
	check(attributes{"size": 1000000000}, "error: Invalid size: size is 1000000000"+sizeText)
	check(attributes{"size": 3, "prefix": "registry"}, "error: Invalid prefix: prefix = \"registry\" does not begin with \"/\". It is an absolute key, such as \"/_etcd/registry\".")
	for _, protocol := range []string{"v4", "V3", ""} {
		check(attributes{"size": 3, "protocol": protocol}, "error: Unknown protocol: protocol = \""+protocol+"\" is none of \"v3\" (members of any version), "+
			"\"v2\" (members up to 3.6, a discovery cluster up to 3.5) and \"service\" (members up to 3.6).")
	}
	access := map[string]any{"ca_cert": "/etc/ca.pem", "cert": nil, "key": nil, "username": nil}
	unused := func(name, protocol, why string) string {
		return "error: Argument without effect: " + name + " cannot be set with protocol = \"" + protocol + "\": " + why + "."
	}
	const noAccess = "members reach a v2 discovery cluster and a service without certificates and users of their own"
	check(attributes{"size": 3, "service_url": "https://discovery.etcd.io"},
		unused("service_url", "v3", "the discovery cluster of \"v2\" and \"v3\" is given by the provider's endpoints"))
	check(attributes{"size": 3, "protocol": "v2", "machine_access": access}, unused("machine_access", "v2", noAccess))
	check(attributes{"size": 3, "protocol": "service", "prefix": "/my", "advertised_endpoints": []string{"http://10.0.0.1:2379"}, "machine_access": access},
		unused("advertised_endpoints", "service", "machines use the URL that the service gives"),
		unused("machine_access", "service", noAccess),
		unused("prefix", "service", "a service keeps its tokens where it likes"))
	check(attributes{"size": 3, "protocol": "service", "service_url": "discovery.example"},
		"error: Invalid URL of a discovery service: service_url = \"discovery.example\" does not begin with \"http://\" or \"https://\". "+
			"It is what /new is added to, such as \"https://discovery.example.com\".")
	check(attributes{"size": 3, "advertised_endpoints": []string{}}, "error: No advertised endpoints: advertised_endpoints is empty, so the machines would have no discovery cluster to dial. "+
		"Leave it out to give them the provider's endpoints.")
	check(attributes{"size": 3, "advertised_endpoints": []string{"http://10.0.0.1:2379", "ftp://10.0.0.2"}},
		"error: Invalid advertised endpoint: advertised_endpoints holds \"ftp://10.0.0.2\", which has the scheme \"ftp\"; etcd clients speak http or https.")

	machine := func(name, value string) attributes {
		with := map[string]any{"ca_cert": nil, "cert": nil, "key": nil, "username": nil}
		with[name] = value
		return attributes{"size": 3, "machine_access": with}
	}
	for _, name := range []string{"ca_cert", "cert", "key"} {
		for _, value := range []string{"", "ca.pem", "/x\nruncmd: [reboot]", "/x\u0085y", "/é", "/x\x1b[2J"} {
			check(machine(name, value), "error: Invalid path in machine_access: machine_access."+name+" is not an absolute path of printable ASCII characters. "+
				"Set it to the path of the file on the machines, such as \"/etc/etcd/pki/ca.pem\".")
		}
		check(machine(name, "/etc/my pki/$(id).pem"))
	}
	check(machine("username", "root:swordfish"), "error: Password in machine_access: machine_access.username contains \":\", which separates a password from the user in ETCD_DISCOVERY_USER. "+
		"The password would be in the state and in user data. Set username to the user alone, and set ETCD_DISCOVERY_PASSWORD on the machines.")
	check(machine("username", "a\nb"), "error: Invalid username in machine_access: machine_access.username = (3 characters, not shown) is not a user of printable ASCII characters. "+
		"Set it to the user that the machines have in the discovery cluster.")
	for _, endpoint := range []string{"http://$(id):2379", "http://a;reboot", "http://a\u0085b:2379", `http://a"b`} {
		if got := s.validate(attributes{"size": 3, "advertised_endpoints": []string{endpoint}}); len(got) != 1 || !strings.Contains(got[0], "Invalid advertised endpoint") {
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
func upTo36(protocol string) string {
	return "warning: For members up to etcd 3.6: With protocol = \"" + protocol + "\" the members must be etcd 3.6 or older: " +
		"3.7 ignores ETCD_DISCOVERY, and each member forms a cluster of its own. \"v3\" is for members of every version."
}

func TestAdviceAtPlan(t *testing.T) {
	s := newSession(t, fakeProvider(newFake()), registryEndpoints)
	for _, test := range []struct {
		config attributes
		want   []string
	}{
		{attributes{"size": 1}, nil},
		{attributes{"size": 9}, nil},
		{attributes{"size": unknown{}}, nil},
		{attributes{"size": 2}, []string{"warning: Even number of initial members: A cluster of 2 survives the loss of 0 members, as one of 1 does, and has one member more that can fail. Prefer 1 or 3."}},
		{attributes{"size": 4}, []string{"warning: Even number of initial members: A cluster of 4 survives the loss of 1 member, as one of 3 does, and has one member more that can fail. Prefer 3 or 5."}},
		{attributes{"size": 11}, []string{"warning: Many initial members: 11 initial members: every write waits for a majority of them, and more than 7 members make a cluster slower rather than safer. 3 survive the loss of one member, 5 of two, 7 of three."}},
		{attributes{"size": 3, "protocol": "v2"}, []string{upTo36("v2")}},
		{attributes{"size": 3, "protocol": "service", "service_url": "https://discovery.example"}, []string{upTo36("service")}},
		{attributes{"size": 3, "protocol": "service"}, []string{"warning: The public discovery service is no longer maintained: https://discovery.etcd.io is no longer maintained and may not answer (etcd-io/etcd#21915); it deletes tokens after some days, and everyone who knows a token can register. Its members must be etcd 3.6 or older: 3.7 ignores ETCD_DISCOVERY and forms a cluster of its own. Prefer protocol = \"v3\" with an etcd of yours as the discovery cluster."}},
		{attributes{"size": 3, "prefix": "/my"}, []string{"warning: Members look for the token elsewhere: With protocol \"v3\" etcd looks for tokens under /_etcd/registry only. prefix = \"/my\" works where the machines reach the discovery cluster through an etcd gRPC proxy that adds a namespace; without one, leave prefix out."}},
	} {
		want(t, s.plan(test.config).texts, test.want...)
	}
	// There is no advice about an existing token.
	s.carryOut(s.plan(attributes{"size": 2}))
	want(t, s.plan(attributes{"size": 2}).texts)
}
