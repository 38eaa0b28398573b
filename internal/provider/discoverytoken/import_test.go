// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discoverytoken

import "testing"

func TestImportID(t *testing.T) {
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
	for _, id := range []string{"a/b", "my:token", "/my:", "service:https://host/new"} {
		if got, problem := parseImportID(id); problem == "" {
			t.Errorf("%s: got %+v", id, got)
		}
	}
}
