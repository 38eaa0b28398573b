// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discoverytoken

import "testing"

func TestBadInput(t *testing.T) {
	const (
		tokenHint = " Every member puts the token into a key of the registry, so it may hold letters, digits, \"-\", \"_\" and \".\" only. Leave token out to have one made."
		v3Only    = " is not served by this version of the provider. Use \"v3\": any etcd can hold the token; the members must be 3.6 or later."
	)
	token := func(token, problem string) (attributes, string) {
		return attributes{"size": 3, "token": token}, "error: Invalid discovery token: token = " + problem + "." + tokenHint
	}
	s := newSession(t, fakeProvider(newFake()), registryEndpoints)
	check := func(config attributes, texts ...string) {
		t.Helper()
		want(t, s.validate(config), texts...)
	}
	sizeText := "; it is the number of members that form the cluster together, from 1 to 99."
	check(attributes{"size": 0}, "error: Invalid size: size = 0"+sizeText)
	check(attributes{"size": -1}, "error: Invalid size: size = -1"+sizeText)
	check(attributes{"size": 1.5}, "error: Invalid size: size = 1.5"+sizeText)
	check(attributes{"size": 1000000000}, "error: Invalid size: size = 1000000000"+sizeText)
	check(attributes{}, "error: Neither founders nor size: Set founders to the names of the members that form the cluster together, or size to their number.")
	check(attributes{"size": 3, "founders": []string{"d", "b", "c", "a"}}, "error: size and founders disagree: size = 3, but founders names 4 members: a, b, c, d. "+
		"A token that waits for more members than there are is never complete, and one for fewer turns the rest away. Leave size out.")
	check(attributes{"founders": []string{}}, "error: No founders: founders is empty; a cluster is formed by at least one member.")
	check(attributes{"founders": []string{"a=b"}}, "error: Invalid name of a founder: founders holds \"a=b\", which contains \"=\". "+
		"A member registers as name=url[,name=url], so its name can hold neither.")

	for input, problem := range map[string]string{
		"": `"" is empty`, "a/b": `"a/b" contains "/"`, "a..b": `"a..b" contains ".."`, "a b": `"a b" contains a space`, "a\n": `"a\n" contains a line break`,
	} {
		config, text := token(input, problem)
		check(config, text)
	}
	check(attributes{"size": 3, "prefix": "registry"}, "error: Invalid registry prefix: prefix = \"registry\" does not begin with \"/\". It is an absolute key, such as \"/_etcd/registry\".")
	for _, protocol := range []string{"v2", "service", "V3", ""} {
		check(attributes{"size": 3, "protocol": protocol}, "error: Protocol not available: protocol = \""+protocol+"\""+v3Only)
	}
	check(attributes{"size": 3, "service_url": "https://discovery.etcd.io"}, "error: service_url without the service: service_url is used with protocol = \"service\" only, "+
		"and protocol is \"v3\". The registry of \"v2\" and \"v3\" is given by the provider's endpoints.")

	// Right, or not known yet.
	for _, config := range []attributes{
		{"size": 1}, {"size": 3, "founders": []string{"a", "b", "c"}}, {"founders": []string{"a"}},
		{"size": unknown{}}, {"founders": unknown{}}, {"size": 3, "founders": unknown{}}, {"size": unknown{}, "founders": []string{"a"}},
		{"size": 3, "token": unknown{}, "prefix": unknown{}, "protocol": unknown{}, "service_url": unknown{}},
	} {
		check(config)
	}
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
		{attributes{"size": 2}, []string{"warning: Even number of founders: A cluster of 2 survives the loss of 0 members, as one of 1 does, and has one member more that can fail. Prefer 1 or 3."}},
		{attributes{"founders": []string{"a", "b", "c", "d"}}, []string{"warning: Even number of founders: A cluster of 4 survives the loss of 1 member, as one of 3 does, and has one member more that can fail. Prefer 3 or 5."}},
		{attributes{"size": 11}, []string{"warning: Many founders: 11 founders: every write waits for a majority of them, and more than 7 members make a cluster slower rather than safer. 3 survive the loss of one member, 5 of two, 7 of three."}},
		{attributes{"size": 3, "prefix": "/my"}, []string{"warning: Members look for the token elsewhere: With protocol \"v3\" etcd looks for tokens under /_etcd/registry only. prefix = \"/my\" works where the machines reach the registry through an etcd gRPC proxy that adds a namespace; without one, leave prefix out."}},
	} {
		want(t, s.plan(test.config).texts, test.want...)
	}
	// What exists is not advised on again.
	s.carryOut(s.plan(attributes{"size": 2}))
	want(t, s.plan(attributes{"size": 2}).texts)
}
