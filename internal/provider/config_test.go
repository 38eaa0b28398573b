// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/must"
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
	must.Succeed(t, err)
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
		"metrics":             {"metrics_url": unknown},
		"one mapped endpoint": {"address_map": map[string]any{"https://a": unknown}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, r := read(t, b, nil); len(r.diags) > 0 || !r.unknown {
				t.Errorf("unknown %v, %v", r.unknown, r.diags)
			}
			p := New("test", &connection.Pool{}, backend.NewRun())
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
		"metrics of one member":   {block{"metrics_url": "http://10.0.0.1:2381"}, 1},
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
	p := New("test", &connection.Pool{}, backend.NewRun())
	for i, want := range []int{1, 0} {
		var resp provider.ConfigureResponse
		p.Configure(t.Context(), provider.ConfigureRequest{Config: config(t, block{})}, &resp)
		if resp.Diagnostics.HasError() || resp.Diagnostics.WarningsCount() != want {
			t.Errorf("time %d: got %v, want %d warnings", i, resp.Diagnostics, want)
		}
	}
}

// TestSettings runs the stanzas of testdata/settings.txt: the arguments of a provider block
// and the variables of its environment, in JSON, and what becomes of them and what a user is
// told of mistakes: where, what, and which value is shown. PKI is a directory of certificates,
// and @FILE is the content of a file. -rewrite rewrites the file.
func TestSettings(t *testing.T) {
	pki := etcdtest.NewPKI(t)
	_, _, expired := pki.Client("root"), pki.Client("other"), pki.ExpiredClient("root")
	dir := filepath.Dir(expired.CertFile)
	datadriven.RunTest(t, filepath.Join("testdata", "settings.txt"), func(t *testing.T, d *datadriven.TestData) string {
		b, environment := block{}, map[string]string{}
		for line := range strings.Lines(d.Input) {
			name, value, _ := strings.Cut(strings.ReplaceAll(line, `PKI/`, dir+"/"), " ")
			var v any
			if err := json.Unmarshal([]byte(value), &v); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			text, _ := v.(string)
			if file, ok := strings.CutPrefix(text, "@"); ok {
				content := must.Read(t, file)
				v = content
			}
			if strings.HasPrefix(name, "ETCD") {
				environment[name] = text
			} else {
				b[name] = v
			}
		}
		s, r := read(t, b, environment)
		if r.unknown {
			t.Error("unknown")
		}
		lost, inUse := r.clusterLost(), r.urlsInUse()
		out := described(s, r)
		if lost.Cluster > 0 || len(inUse) > 0 {
			out += fmt.Sprintln("lost", lost.Cluster, lost.Gone, "in use", inUse)
		}
		return date.ReplaceAllString(strings.ReplaceAll(out, dir, "PKI"), "DATE")
	})
	var resp provider.SchemaResponse
	(&Provider{}).Schema(t.Context(), provider.SchemaRequest{}, &resp)
	if _, argument := resp.Schema.Attributes["cluster_lost"]; argument {
		t.Error("the statement that a cluster is lost is an argument, which outlives the run")
	}
}

// described is what the provider makes of a block and an environment: the settings, unless
// they are the default, warnings, and errors with their place.
func described(s connection.Settings, r *reader) string {
	var b strings.Builder
	for _, d := range r.diags {
		at := "environment"
		if located, ok := d.(diag.DiagnosticWithPath); ok {
			at = located.Path().String()
		}
		fmt.Fprintf(&b, "%s: %s\n%s\n", at, d.Summary(), d.Detail())
	}
	if b.Len() > 0 {
		return b.String()
	}
	fmt.Fprintf(&b, "%q %q:%q %v %v %v\n", s.Endpoints, s.Username, s.Password.Reveal(), s.DialTimeout, s.RequestTimeout, s.AddressMap)
	if s.TLS != nil {
		fmt.Fprintf(&b, "TLS with a CA: %v, certificates: %d, not verified: %v\n", s.TLS.RootCAs != nil, len(s.TLS.Certificates), s.TLS.InsecureSkipVerify)
	}
	for _, w := range r.warnings {
		fmt.Fprintf(&b, "warning: %s: %s\n", w.Summary, w.Detail)
	}
	return b.String()
}

var date = regexp.MustCompile(`[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} [\d:]+ UTC`)
