// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discoverytoken

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/discovery"
)

const firstToken = "01010101010101010101010101010101"

func TestImportID(t *testing.T) {
	for id, want := range map[string]discovery.Location{
		"abc":        {Protocol: "v3", Prefix: "/_etcd/registry", Token: "abc"},
		"v2:abc":     {Protocol: "v2", Prefix: "/_etcd/registry", Token: "abc"},
		"v2:/my:abc": {Protocol: "v2", Prefix: "/my", Token: "abc"},
		"service:https://d.example/" + firstToken: {Protocol: "service", Base: "https://d.example", Token: firstToken},
	} {
		got, problem := parseImportID(id)
		if got != want || problem != "" {
			t.Errorf("%s: got %+v, %s; want %+v", id, got, problem, want)
		}
		if want.Protocol != "service" && importID(want) != id {
			t.Errorf("%s is not what an error would propose: %s", id, importID(want))
		}
	}
	for _, id := range []string{"a/b", "my:token", "/my:", "service:https://host/new", "service:http://host:2379/v2/keys/_etcd/registry/" + firstToken} {
		if got, problem := parseImportID(id); problem == "" {
			t.Errorf("%s: got %+v", id, got)
		}
	}
}

func FuzzImportID(f *testing.F) {
	for _, s := range []string{"abc", "v2:abc", "v3:/p:abc", "/p/q:abc", "service:https://d.example.com/5a3c7d0e4b1f4c52a9e86b1d0f7c2e93", "v2:", ":", "v3:v2:abc", "v3:v2", "v2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, id string) {
		what, problem := parseImportID(id)
		if problem != "" || what.Protocol == discovery.ByService {
			return
		}
		text := importID(what)
		if back, problem := parseImportID(text); problem != "" || back != what {
			t.Fatalf("parseImportID(%q) = %+v; written as %q and read as %+v, %q", id, what, text, back, problem)
		}
	})
}

// A token is a capability until it is complete, and so is what contains it.
func TestSensitive(t *testing.T) {
	var made resource.SchemaResponse
	(&tokenResource{}).Schema(t.Context(), resource.SchemaRequest{}, &made)
	var read datasource.SchemaResponse
	NewDataSource().Schema(t.Context(), datasource.SchemaRequest{}, &read)
	secret := map[string]bool{"token": true, "url": true, "id": true, "environment": true}
	for name, attribute := range made.Schema.Attributes {
		if attribute.IsSensitive() != secret[name] {
			t.Errorf("resource: %s is sensitive: %v", name, attribute.IsSensitive())
		}
	}
	for name, attribute := range read.Schema.Attributes {
		if attribute.IsSensitive() != secret[name] {
			t.Errorf("data source: %s is sensitive: %v", name, attribute.IsSensitive())
		}
	}
}
