// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package memberconfig

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/bootstrap"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

func TestMisfit(t *testing.T) {
	given := map[string][]string{"a": {"https://10.0.0.1:2380"}, "b": {"https://10.0.0.2:2380", "https://10.1.0.2:2380"}}
	for name, c := range map[string]struct {
		name     string
		peers    []string
		founders map[string][]string
		want     string
	}{
		"the same":                       {"a", []string{"https://10.0.0.1:2380"}, given, ""},
		"the same, written otherwise":    {"b", []string{"https://10.1.0.2:2380/", "HTTPS://10.0.0.2:2380"}, given, ""},
		"another URL":                    {"a", []string{"https://10.0.0.9:2380"}, given, text.FounderURLs("a", []string{"https://10.0.0.9:2380"}, given["a"]).Detail},
		"another scheme":                 {"a", []string{"http://10.0.0.1:2380"}, given, text.FounderURLs("a", []string{"http://10.0.0.1:2380"}, given["a"]).Detail},
		"one of two URLs":                {"b", []string{"https://10.0.0.2:2380"}, given, text.FounderURLs("b", []string{"https://10.0.0.2:2380"}, given["b"]).Detail},
		"another name":                   {"etcd-a", []string{"https://10.0.0.1:2380"}, given, text.FounderName("etcd-a", "a", "https://10.0.0.1:2380").Detail},
		"another name and scheme":        {"etcd-b", []string{"http://10.1.0.2:2380"}, given, text.FounderName("etcd-b", "b", "http://10.1.0.2:2380").Detail},
		"one that joins later":           {"d", []string{"https://10.0.0.4:2380"}, given, ""},
		"another port of that host":      {"d", []string{"https://10.0.0.1:2381"}, given, ""},
		"URLs that the machine fills in": {"a", nil, given, ""},
		"founders that are not known":    {"a", []string{"https://10.0.0.9:2380"}, nil, ""},
	} {
		got := ""
		if words := misfit(c.name, c.peers, c.founders); words != nil {
			got = words.Detail
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestFounders(t *testing.T) {
	initial := func(v types.String) types.Map {
		return types.MapValueMust(types.StringType, map[string]attr.Value{"ETCD_INITIAL_CLUSTER": v, "ETCD_INITIAL_CLUSTER_TOKEN": types.StringUnknown()})
	}
	for name, c := range map[string]struct {
		environment types.Map
		want        int
	}{
		"known but for the token": {initial(types.StringValue("a=https://10.0.0.1:2380,b=https://10.0.0.2:2380")), 2},
		"unknown":                 {initial(types.StringUnknown()), 0},
		"written by hand":         {initial(types.StringValue("a")), 0},
		"all unknown":             {types.MapUnknown(types.StringType), 0},
		"null":                    {types.MapNull(types.StringType), 0},
		"a discovery":             {types.MapValueMust(types.StringType, map[string]attr.Value{"ETCD_DISCOVERY_TOKEN": types.StringValue("t")}), 0},
	} {
		if got := founders(&bootstrap.Bootstrap{Environment: c.environment}); len(got) != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestRegistry(t *testing.T) {
	words := func(values ...attr.Value) types.List { return types.ListValueMust(types.StringType, values) }
	at := types.StringValue("https://10.0.0.1:2379")
	for name, c := range map[string]struct {
		endpoints types.List
		own       []string
		want      string
	}{
		"the cluster itself":           {words(at), []string{"https://10.0.0.3:2379", "http://10.0.0.1:2379/"}, "http://10.0.0.1:2379/"},
		"another port":                 {words(at), []string{"https://10.0.0.1:2479"}, ""},
		"another host":                 {words(at), []string{"https://10.0.0.2:2379"}, ""},
		"one of several":               {words(types.StringUnknown(), types.StringValue("https://r:2379"), at), []string{"https://10.0.0.1:2379"}, "https://10.0.0.1:2379"},
		"unknown":                      {types.ListUnknown(types.StringType), []string{"https://10.0.0.1:2379"}, ""},
		"null":                         {types.ListNull(types.StringType), []string{"https://10.0.0.1:2379"}, ""},
		"addresses that are not known": {words(at), nil, ""},
	} {
		if got := shared(c.own, attribute.Texts(c.endpoints)); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
