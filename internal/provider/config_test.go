// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
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
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
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
// told of mistakes: where, what, and which value is shown. "validate" counts the mistakes, and
// reads no files. PKI is a directory of certificates, @FILE is the content of a file, and
// @unknown is not known. -rewrite rewrites the file.
func TestSettings(t *testing.T) {
	pki := etcdtest.NewPKI(t)
	_, _, expired := pki.Client("root"), pki.Client("other"), pki.ExpiredClient("root")
	dir := filepath.Dir(expired.CertFile)
	datadriven.RunTest(t, filepath.Join("testdata", "settings.txt"), func(t *testing.T, d *datadriven.TestData) string {
		b, environment := block{}, map[string]string{}
		for line := range strings.Lines(d.Input) {
			name, value, _ := strings.Cut(strings.ReplaceAll(line, `PKI/`, dir+"/"), " ")
			v, err := driver.FromJSON(value)
			must.Succeed(t, err)
			if file, is := v.(driver.Ref); is {
				v = must.Read(t, file.Resource)
			}
			if text, is := v.(string); is && strings.HasPrefix(name, "ETCD") {
				environment[name] = text
			} else {
				b[name] = v
			}
		}
		if d.Cmd == "validate" {
			var resp provider.ValidateConfigResponse
			(&Provider{run: backend.NewRun()}).ValidateConfig(t.Context(), provider.ValidateConfigRequest{Config: config(t, b)}, &resp)
			return fmt.Sprintln("errors:", resp.Diagnostics.ErrorsCount())
		}
		s, r := read(t, b, environment)
		if r.unknown {
			var resp provider.ConfigureResponse
			New("test", &connection.Pool{}, backend.NewRun()).Configure(t.Context(), provider.ConfigureRequest{Config: config(t, b)}, &resp)
			got, ok := resp.ResourceData.(*backend.Backend)
			if len(r.diags) > 0 || resp.Diagnostics.HasError() || !ok || !got.Unknown || got != resp.DataSourceData {
				t.Errorf("%s: %v; Configure: %+v, %v", d.Pos, r.diags, got, resp.Diagnostics)
			}
			return "unknown"
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
