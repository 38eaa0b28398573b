// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
)

// block is a provider block.
type block = driver.Values

// config returns the block in the form that Terraform passes.
func config(t *testing.T, b block) tfsdk.Config {
	t.Helper()
	var schema provider.SchemaResponse
	(&Provider{}).Schema(t.Context(), provider.SchemaRequest{}, &schema)
	v, err := driver.Build(schema.Schema.Type().TerraformType(t.Context()), b)
	if err != nil {
		t.Fatal(err)
	}
	return tfsdk.Config{Raw: v, Schema: schema.Schema}
}

// now is a time at which the tests' certificates are valid.
var now = time.Now()

// read reads a block and an environment like Configure.
func read(t *testing.T, b block, environment map[string]string) (connection.Settings, *reader) {
	t.Helper()
	var m model
	if diags := config(t, b).Get(t.Context(), &m); diags.HasError() {
		t.Fatal(diags)
	}
	r := &reader{getenv: func(k string) string { return environment[k] }, now: now, files: true}
	return r.settings(m), r
}

func TestUnknownSettings(t *testing.T) {
	unknown := driver.Unknown{}
	for name, b := range map[string]block{
		"endpoints":           {"endpoints": unknown},
		"one endpoint":        {"endpoints": []any{unknown}},
		"username":            {"username": unknown, "password": "swordfish"},
		"password":            {"username": "root", "password": unknown},
		"CA":                  {"ca_cert": unknown, "address_map": map[string]any{"a": "https://b"}},
		"certificate":         {"cert": unknown, "key": "x"},
		"key":                 {"cert": "x", "key": unknown},
		"file name":           {"ca_cert": unknown},
		"insecure":            {"insecure_skip_tls_verify": unknown},
		"duration":            {"dial_timeout": unknown},
		"address map":         {"address_map": unknown},
		"one mapped endpoint": {"address_map": map[string]any{"https://a": unknown}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, r := read(t, b, nil); len(r.diags) > 0 || !r.unknown {
				t.Errorf("unknown %v, %v", r.unknown, r.diags)
			}
			p := New("test")()
			var resp provider.ConfigureResponse
			p.Configure(t.Context(), provider.ConfigureRequest{Config: config(t, b)}, &resp)
			got, ok := resp.ResourceData.(*backend.Backend)
			if resp.Diagnostics.HasError() || !ok || !got.Unknown || got != resp.DataSourceData {
				t.Errorf("Configure: %+v, %v", got, resp.Diagnostics)
			}
		})
	}
}

func TestValidateReadsNoFiles(t *testing.T) {
	for name, c := range map[string]struct {
		block  block
		errors int
	}{
		"missing file":            {block{"ca_cert": "no/such/file"}, 0},
		"certificate without key": {block{"cert": "no/such/file"}, 1},
		"bad text":                {block{"ca_cert": "-----BEGIN x"}, 1},
		"two mistakes":            {block{"ca_cert": "-----BEGIN x", "dial_timeout": "soon"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			var resp provider.ValidateConfigResponse
			(&Provider{run: backend.NewRun()}).ValidateConfig(t.Context(), provider.ValidateConfigRequest{Config: config(t, c.block)}, &resp)
			if resp.Diagnostics.ErrorsCount() != c.errors {
				t.Errorf("want %d errors, got %v", c.errors, resp.Diagnostics)
			}
		})
	}
}

// Once per process: Terraform configures a provider repeatedly.
func TestWarnedOnce(t *testing.T) {
	t.Setenv("ETCDCTL_INSECURE_SKIP_TLS_VERIFY", "true")
	p := New("test")()
	for i, want := range []int{1, 0} {
		var resp provider.ConfigureResponse
		p.Configure(t.Context(), provider.ConfigureRequest{Config: config(t, block{})}, &resp)
		if resp.Diagnostics.HasError() || resp.Diagnostics.WarningsCount() != want {
			t.Errorf("time %d: got %v, want %d warnings", i, resp.Diagnostics, want)
		}
	}
}
