// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	fwresource "github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/defaults"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// everyOptional returns the optional attributes of the whole provider, by path.
func everyOptional(t *testing.T) map[string]*tfprotov6.SchemaAttribute {
	t.Helper()
	schemas, err := newSession(t, nil, nil).server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	must.Succeed(t, err)
	out := map[string]*tfprotov6.SchemaAttribute{}
	var add func(at string, attributes []*tfprotov6.SchemaAttribute)
	add = func(at string, attributes []*tfprotov6.SchemaAttribute) {
		for _, a := range attributes {
			path := at + "." + a.Name
			if a.Optional {
				out[path] = a
			}
			if a.NestedType != nil && a.NestedType.Nesting == tfprotov6.SchemaObjectNestingModeSingle {
				add(path, a.NestedType.Attributes)
			}
		}
	}
	add("provider", schemas.Provider.Block.Attributes)
	for prefix, of := range map[string]map[string]*tfprotov6.Schema{
		"": schemas.ResourceSchemas, "data.": schemas.DataSourceSchemas, "ephemeral.": schemas.EphemeralResourceSchemas, "list.": schemas.ListResourceSchemas,
	} {
		for name, schema := range of {
			add(prefix+name, schema.Block.Attributes)
		}
	}
	for name, of := range schemas.ActionSchemas {
		add("action."+name, of.Schema.Block.Attributes)
	}
	return out
}

// defaultsOf returns the defaults in the schemas of the resources, by path.
func defaultsOf(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, construct := range provider.New("test", nil, nil).Resources(t.Context()) {
		var s fwresource.SchemaResponse
		var m fwresource.MetadataResponse
		construct().Schema(t.Context(), fwresource.SchemaRequest{}, &s)
		construct().Metadata(t.Context(), fwresource.MetadataRequest{ProviderTypeName: "etcd"}, &m)
		for name, a := range s.Schema.Attributes {
			switch a := a.(type) {
			case schema.StringAttribute:
				if a.Default != nil {
					var resp defaults.StringResponse
					a.Default.DefaultString(t.Context(), defaults.StringRequest{}, &resp)
					out[m.TypeName+"."+name] = resp.PlanValue.ValueString()
				}
			case schema.BoolAttribute:
				if a.Default != nil {
					var resp defaults.BoolResponse
					a.Default.DefaultBool(t.Context(), defaults.BoolRequest{}, &resp)
					out[m.TypeName+"."+name] = fmt.Sprint(resp.PlanValue.ValueBool())
				}
			}
		}
	}
	return out
}

// Every optional attribute documents its default, with the exact value. An
// attribute without a default is in the list below, with the reason.
func TestDefaultsAreDocumented(t *testing.T) {
	all, has := everyOptional(t), defaultsOf(t)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		text, want := all[path].Description, "Default: "
		if d := has[path]; d != "" {
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
	t.Parallel()
	base := bases(t, "127.0.0.1:1", t.TempDir(), etcdtest.NewPKI(t))
	all, block := kinds(t, base)
	durations, ids := 0, 0
	for _, k := range all {
		for _, a := range k.arguments {
			var bad []string
			switch name := strings.Join(a.path, "."); {
			case k.name == "provider" || k.imports || strings.HasPrefix(k.name, "function"):
			case isDuration.MatchString(name):
				durations++
				bad = []string{"soon", "0s", "-1s", "10", ""}
			case isID.MatchString(name):
				ids++
				bad = []string{"xyz", "0", "", "12345678901234567"}
			}
			for _, value := range bad {
				s := newSession(t, block, base["provider"])
				if k.run(s, with(base[k.name], a.path, value)); s.valid {
					t.Errorf("%s: %s may be %q", k.name, a.path, value)
				}
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

// Every type that has endpoints warns if the password is sent to them in clear text,
// once.
func TestEveryTypeWarnsOfAPasswordInTheClear(t *testing.T) {
	t.Parallel()
	port := etcdtest.ReservePort(t)
	base := bases(t, fmt.Sprintf("127.0.0.1:%d", port), t.TempDir(), etcdtest.NewPKI(t))
	all, block := kinds(t, base)
	for _, k := range all {
		if k.name == "provider" || !slices.ContainsFunc(k.arguments, func(a argument) bool { return a.path[0] == "endpoints" }) {
			continue
		}
		s := newSession(t, block, base["provider"])
		for range 2 {
			k.run(s, with(base[k.name], []string{"endpoints"}, []any{fmt.Sprintf("http://0.0.0.0:%d", port)})) // no loopback address, and no other machine
		}
		if got := strings.Count(strings.Join(s.texts, "\n"), "The password is sent in clear text"); got != 1 {
			t.Errorf("%s: %d warnings in %q", k.name, got, s.texts)
		}
	}
}
