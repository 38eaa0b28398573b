// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/list"
	fwprovider "github.com/hashicorp/terraform-plugin-framework/provider"
	fwresource "github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/defaults"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider"
)

// described is the interface that the attributes of every kind of schema share.
type described interface {
	IsOptional() bool
	GetDescription() string
	GetMarkdownDescription() string
}

// optional collects the optional attributes below a path.
func optional[A described](into map[string]described, at string, attributes map[string]A) {
	for name, a := range attributes {
		path := at + "." + name
		if a.IsOptional() {
			into[path] = a
		}
		if nested, ok := any(a).(schema.SingleNestedAttribute); ok {
			optional(into, path, nested.Attributes)
		}
	}
}

// everyOptional returns the optional attributes of the whole provider.
func everyOptional(t *testing.T) map[string]described {
	t.Helper()
	ctx := context.Background()
	p, ok := provider.New("test")().(*provider.Provider)
	if !ok {
		t.Fatal("the provider is of another type")
	}
	out := map[string]described{}
	var own fwprovider.SchemaResponse
	p.Schema(ctx, fwprovider.SchemaRequest{}, &own)
	optional(out, "provider", own.Schema.Attributes)
	for _, construct := range p.Resources(ctx) {
		var s fwresource.SchemaResponse
		var m fwresource.MetadataResponse
		construct().Schema(ctx, fwresource.SchemaRequest{}, &s)
		construct().Metadata(ctx, fwresource.MetadataRequest{ProviderTypeName: "etcd"}, &m)
		optional(out, m.TypeName, s.Schema.Attributes)
	}
	for _, construct := range p.DataSources(ctx) {
		var s datasource.SchemaResponse
		var m datasource.MetadataResponse
		construct().Schema(ctx, datasource.SchemaRequest{}, &s)
		construct().Metadata(ctx, datasource.MetadataRequest{ProviderTypeName: "etcd"}, &m)
		optional(out, "data."+m.TypeName, s.Schema.Attributes)
	}
	for _, construct := range p.EphemeralResources(ctx) {
		var s ephemeral.SchemaResponse
		var m ephemeral.MetadataResponse
		construct().Schema(ctx, ephemeral.SchemaRequest{}, &s)
		construct().Metadata(ctx, ephemeral.MetadataRequest{ProviderTypeName: "etcd"}, &m)
		optional(out, "ephemeral."+m.TypeName, s.Schema.Attributes)
	}
	for _, construct := range p.ListResources(ctx) {
		var s list.ListResourceSchemaResponse
		var m fwresource.MetadataResponse
		construct().ListResourceConfigSchema(ctx, list.ListResourceSchemaRequest{}, &s)
		construct().Metadata(ctx, fwresource.MetadataRequest{ProviderTypeName: "etcd"}, &m)
		optional(out, "list."+m.TypeName, s.Schema.Attributes)
	}
	for _, construct := range p.Actions(ctx) {
		var s action.SchemaResponse
		var m action.MetadataResponse
		construct().Schema(ctx, action.SchemaRequest{}, &s)
		construct().Metadata(ctx, action.MetadataRequest{ProviderTypeName: "etcd"}, &m)
		optional(out, "action."+m.TypeName, s.Schema.Attributes)
	}
	return out
}

// defaultOf returns the default in the schema of an attribute, "" for none.
func defaultOf(a described) string {
	ctx := context.Background()
	switch a := a.(type) {
	case schema.StringAttribute:
		if a.Default != nil {
			var resp defaults.StringResponse
			a.Default.DefaultString(ctx, defaults.StringRequest{}, &resp)
			return resp.PlanValue.ValueString()
		}
	case schema.BoolAttribute:
		if a.Default != nil {
			var resp defaults.BoolResponse
			a.Default.DefaultBool(ctx, defaults.BoolRequest{}, &resp)
			return fmt.Sprint(resp.PlanValue.ValueBool())
		}
	}
	return ""
}

// Every optional attribute documents its default, with the exact value. An
// attribute without a default is in the list below, with the reason.
func TestDefaultsAreDocumented(t *testing.T) {
	all := everyOptional(t)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		a := all[path]
		text := a.GetMarkdownDescription() + a.GetDescription()
		want := "Default: "
		if d := defaultOf(a); d != "" {
			want += "`" + d + "`"
		}
		_, none := withoutDefault[path]
		switch says := strings.Contains(text, want); {
		case !says && !none:
			t.Errorf("%s does not say %q:\n%s", path, want, text)
		case says && none:
			t.Errorf("%s has a default, and is in the list of those without", path)
		}
	}
	for path := range withoutDefault {
		if all[path] == nil {
			t.Errorf("there is no optional attribute %s", path)
		}
	}
}

// withoutDefault are the attributes that have no default, and the reason: the
// setting is then absent, or another argument gives it.
var withoutDefault = map[string]string{
	"provider.username": "", "provider.password": "", "provider.cert": "", "provider.key": "",
	"provider.address_map": "",

	"data.etcd_discovery_token.token": "or url", "data.etcd_discovery_token.url": "or token",
	"etcd_discovery_token.machine_access": "", "etcd_discovery_token.machine_access.ca_cert": "", "etcd_discovery_token.machine_access.cert": "",
	"etcd_discovery_token.machine_access.key": "", "etcd_discovery_token.machine_access.username": "",
	"etcd_member.timeouts": "its attributes have them", "etcd_learner.timeouts": "its attributes have them",
	"etcd_snapshot.timeouts": "its attributes have them",

	"etcd_cluster.discovery.size": "given as a whole", "etcd_cluster.discovery.complete": "given as a whole", "etcd_cluster.discovery.environment": "given as a whole",
}

// Invalid durations and IDs are refused in the configuration. ValidateConfig of
// the provider checks the provider's own, together with the environment.
func TestDurationsAndIDsAreValidated(t *testing.T) {
	ctx := context.Background()
	durations, ids := 0, 0
	for path, a := range everyOptional(t) {
		var bad []string
		switch _, name, _ := strings.Cut(path, "."); {
		case strings.HasPrefix(path, "provider."):
			continue
		case isDuration.MatchString(name):
			durations++
			bad = []string{"soon", "0s", "-1s", "10", ""}
		case isID.MatchString(name):
			ids++
			bad = []string{"xyz", "0", "", "12345678901234567"}
		}
		for _, value := range bad {
			checked, ok := a.(interface{ StringValidators() []validator.String })
			if !ok {
				t.Errorf("%s is no string", path)
				continue
			}
			var resp validator.StringResponse
			for _, v := range checked.StringValidators() {
				v.ValidateString(ctx, validator.StringRequest{ConfigValue: types.StringValue(value)}, &resp)
			}
			if !resp.Diagnostics.HasError() {
				t.Errorf("%s accepts %q", path, value)
			}
		}
	}
	if durations < 14 || ids < 1 {
		t.Errorf("only %d durations and %d IDs were found", durations, ids)
	}
}

var (
	isDuration = regexp.MustCompile(`(timeouts?\.[a-z]+|timeout|_after|window|watch|ttl|interval)$`)
	isID       = regexp.MustCompile(`(learner_id|cluster_id)$`)
)
