// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package attribute

import (
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// An element that passes can be used later, and an unknown element passes.
func TestURLs(t *testing.T) {
	s, null, unknown := types.StringValue, types.StringNull(), types.StringUnknown()
	for _, c := range []struct {
		name  string
		check URLs
		in    []attr.Value
		want  string // the summary, "" for none
	}{
		{"advertised", Advertised, []attr.Value{s("http://infra1:2380"), s("https://infra1:2380")}, ""},
		{"advertised, unknown", Advertised, []attr.Value{unknown, s("http://infra1:2380"), unknown}, ""},
		{"advertised, null", Advertised, []attr.Value{null}, "Invalid URL in urls"},
		{"advertised, wildcard", Advertised, []attr.Value{s("http://0.0.0.0:2380")}, "Invalid URL in urls"},
		{"advertised, twice", Advertised, []attr.Value{s("http://infra1:2380"), s("HTTP://INFRA1:2380/")}, "Duplicate URL in urls"},
		{"endpoints", Endpoints, []attr.Value{s("infra1"), s("infra1:2379"), s("https://infra1"), s("http://[::1]:1")}, ""},
		{"endpoints, no host", Endpoints, []attr.Value{s("http://:2379")}, "Invalid URL in urls"},
		{"endpoints, empty", Endpoints, []attr.Value{s("")}, "Invalid URL in urls"},
		{"endpoints, null", Endpoints, []attr.Value{null}, "Invalid URL in urls"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var list validator.ListResponse
			c.check.ValidateList(t.Context(), validator.ListRequest{Path: path.Root("urls"), ConfigValue: types.ListValueMust(types.StringType, c.in)}, &list)
			var set validator.SetResponse
			c.check.ValidateSet(t.Context(), validator.SetRequest{Path: path.Root("urls"), ConfigValue: types.SetValueMust(types.StringType, c.in)}, &set)
			for kind, diags := range map[string]interface {
				ErrorsCount() int
			}{"list": list.Diagnostics, "set": set.Diagnostics} {
				if n := diags.ErrorsCount(); (n == 1) != (c.want != "") || n > 1 {
					t.Errorf("%s: %d errors: %v", kind, n, diags)
				}
			}
			for _, d := range list.Diagnostics {
				if d.Summary() != c.want {
					t.Errorf("%q, want %q", d.Summary(), c.want)
				}
			}
		})
	}
}

// A new member needs a name that its machine can start with; an existing member
// keeps its name.
func TestNewName(t *testing.T) {
	for _, c := range []struct {
		was, now types.String
		refused  bool
	}{
		{types.StringNull(), types.StringValue("infra1"), false},
		{types.StringNull(), types.StringUnknown(), false},
		{types.StringNull(), types.StringValue("$(id)"), true},
		{types.StringNull(), types.StringValue("../x"), true},
		{types.StringValue("node(1)"), types.StringValue("node(1)"), false},
		{types.StringValue("node(1)"), types.StringValue("node(2)"), true},
	} {
		var diags diag.Diagnostics
		if CheckNewName(path.Root("name"), c.was, c.now, &diags); diags.HasError() != c.refused {
			t.Errorf("%s to %s: %v", c.was, c.now, diags)
		}
	}
}

func TestText(t *testing.T) {
	for _, want := range []string{"2s", "20s", "1m", "1m30s", "10m", "1h", "1h30m", "10h", "1h0m5s"} {
		d, err := time.ParseDuration(want)
		if got := DurationText(d); err != nil || got != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
}
