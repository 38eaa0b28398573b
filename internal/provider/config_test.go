// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
)

// block is a provider block of Go strings, bools, []string and
// map[string]string, or tftypes values.
type block map[string]any

// config returns the block in the form that Terraform passes.
func config(t *testing.T, b block) tfsdk.Config {
	t.Helper()
	var schema provider.SchemaResponse
	(&Provider{}).Schema(t.Context(), provider.SchemaRequest{}, &schema)
	kind := schema.Schema.Type().TerraformType(t.Context()).(tftypes.Object)
	values := map[string]tftypes.Value{}
	for name, kind := range kind.AttributeTypes {
		switch v := b[name].(type) {
		case tftypes.Value:
			values[name] = v
		case []string:
			var elements []tftypes.Value
			for _, e := range v {
				elements = append(elements, tftypes.NewValue(tftypes.String, e))
			}
			values[name] = tftypes.NewValue(kind, elements)
		case map[string]string:
			elements := map[string]tftypes.Value{}
			for k, e := range v {
				elements[k] = tftypes.NewValue(tftypes.String, e)
			}
			values[name] = tftypes.NewValue(kind, elements)
		default:
			values[name] = tftypes.NewValue(kind, v)
		}
	}
	for name := range b {
		if _, ok := values[name]; !ok {
			t.Fatalf("no argument %s", name)
		}
	}
	return tfsdk.Config{Raw: tftypes.NewValue(kind, values), Schema: schema.Schema}
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

func TestSettings(t *testing.T) {
	const (
		endpoints = "endpoints"
		user      = "username"
		pass      = "password"
	)
	for name, c := range map[string]struct {
		block       block
		environment map[string]string
		want        connection.Settings
	}{
		"nothing": {},
		"everything but TLS": {
			block: block{
				endpoints: []string{"10.0.1.10", "http://10.0.1.11:4001", "10.0.1.10:2379"}, user: "root", pass: "swordfish",
				"dial_timeout": "1s", "request_timeout": "1m30s",
				"address_map": map[string]string{"10.0.1.10": "127.0.0.1:12379"},
			},
			want: connection.Settings{
				Endpoints: []string{"http://10.0.1.10:2379", "http://10.0.1.11:4001"}, Username: "root", Password: "swordfish",
				DialTimeout: time.Second, RequestTimeout: 90 * time.Second,
				AddressMap: map[string]string{"http://10.0.1.10:2379": "http://127.0.0.1:12379"},
			},
		},
		"environment": {
			environment: map[string]string{
				"ETCDCTL_ENDPOINTS": "10.0.1.10:2379,10.0.1.11:2379", "ETCDCTL_USER": "root:sword:fish",
				"ETCDCTL_DIAL_TIMEOUT": "1s", "ETCDCTL_COMMAND_TIMEOUT": "9s",
			},
			want: connection.Settings{
				Endpoints: []string{"http://10.0.1.10:2379", "http://10.0.1.11:2379"}, Username: "root", Password: "sword:fish",
				DialTimeout: time.Second, RequestTimeout: 9 * time.Second,
			},
		},
		"password of its own in the environment": {
			environment: map[string]string{"ETCDCTL_USER": "root", "ETCDCTL_PASSWORD": "swordfish"},
			want:        connection.Settings{Username: "root", Password: "swordfish"},
		},
		"user in the block, password in the environment": {
			block:       block{user: "root"},
			environment: map[string]string{"ETCDCTL_PASSWORD": "swordfish"},
			want:        connection.Settings{Username: "root", Password: "swordfish"},
		},
		"password in the block, user in the environment": {
			block:       block{pass: "swordfish"},
			environment: map[string]string{"ETCDCTL_USER": "root:other"},
			want:        connection.Settings{Username: "root", Password: "swordfish"},
		},
		"the block wins": {
			block: block{endpoints: []string{"a"}, user: "alice", pass: "secret", "dial_timeout": "3s", "request_timeout": "4s"},
			environment: map[string]string{
				"ETCDCTL_ENDPOINTS": "b", "ETCDCTL_USER": "root:swordfish", "ETCDCTL_PASSWORD": "other", "ETCDCTL_DIAL_TIMEOUT": "x", "ETCDCTL_COMMAND_TIMEOUT": "y",
			},
			want: connection.Settings{
				Endpoints: []string{"http://a:2379"}, Username: "alice", Password: "secret",
				DialTimeout: 3 * time.Second, RequestTimeout: 4 * time.Second,
			},
		},
		"the block wins with nothing": {
			block:       block{endpoints: []string{}, user: ""},
			environment: map[string]string{"ETCDCTL_ENDPOINTS": "b", "ETCDCTL_USER": "root:swordfish"},
		},
		"no user, and a password that lies about": {
			block:       block{user: ""},
			environment: map[string]string{"ETCDCTL_PASSWORD": "swordfish"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, r := read(t, c.block, c.environment)
			if len(r.diags) > 0 || r.unknown {
				t.Fatalf("unknown %v, %v", r.unknown, r.diags)
			}
			want := c.want
			if want.DialTimeout == 0 {
				want.DialTimeout, want.RequestTimeout = connection.DefaultDialTimeout, connection.DefaultRequestTimeout
			}
			if !slices.Equal(got.Endpoints, want.Endpoints) || !maps.Equal(got.AddressMap, want.AddressMap) ||
				got.Username != want.Username || got.Password != want.Password || got.TLS != nil ||
				got.DialTimeout != want.DialTimeout || got.RequestTimeout != want.RequestTimeout {
				t.Errorf("got  %+v (password %q)\nwant %+v (password %q)", got, got.Password.Reveal(), want, want.Password.Reveal())
			}
		})
	}
}

func TestTLSSettings(t *testing.T) {
	pki := etcdtest.NewPKI(t)
	cert := pki.Client("root")
	text := func(file string) string {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	for name, c := range map[string]struct {
		block       block
		environment map[string]string
		certs       int
		insecure    bool
	}{
		"files":    {block: block{"ca_cert": pki.CAFile, "cert": cert.CertFile, "key": cert.KeyFile}, certs: 1},
		"inline":   {block: block{"ca_cert": text(pki.CAFile), "cert": text(cert.CertFile), "key": text(cert.KeyFile)}, certs: 1},
		"mixed":    {block: block{"ca_cert": pki.CAFile, "cert": cert.CertFile, "key": text(cert.KeyFile)}, certs: 1},
		"only CA":  {block: block{"ca_cert": pki.CAFile}},
		"insecure": {block: block{"insecure_skip_tls_verify": true}, insecure: true},
		"environment": {
			environment: map[string]string{"ETCDCTL_CACERT": pki.CAFile, "ETCDCTL_CERT": cert.CertFile, "ETCDCTL_KEY": cert.KeyFile, "ETCDCTL_INSECURE_SKIP_TLS_VERIFY": "1"},
			certs:       1, insecure: true,
		},
		"the block wins": {
			block:       block{"ca_cert": text(pki.CAFile), "cert": cert.CertFile, "key": cert.KeyFile, "insecure_skip_tls_verify": false},
			environment: map[string]string{"ETCDCTL_CACERT": "gone", "ETCDCTL_CERT": "gone", "ETCDCTL_KEY": "gone", "ETCDCTL_INSECURE_SKIP_TLS_VERIFY": "x"},
			certs:       1,
		},
		"no certificate of the environment's": {
			block:       block{"ca_cert": pki.CAFile, "cert": ""},
			environment: map[string]string{"ETCDCTL_CERT": "gone", "ETCDCTL_KEY": "gone"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if c.block == nil {
				c.block = block{}
			}
			c.block["endpoints"] = []string{"infra1"}
			got, r := read(t, c.block, c.environment)
			if len(r.diags) > 0 || r.unknown {
				t.Fatalf("unknown %v, %v", r.unknown, r.diags)
			}
			if got.TLS == nil || len(got.TLS.Certificates) != c.certs || got.TLS.InsecureSkipVerify != c.insecure {
				t.Errorf("got %+v", got.TLS)
			}
			if got.Endpoints[0] != "https://infra1:2379" {
				t.Errorf("endpoint %s", got.Endpoints[0])
			}
		})
	}
}

func TestUnknownSettings(t *testing.T) {
	unknown := tftypes.NewValue(tftypes.String, tftypes.UnknownValue)
	for name, b := range map[string]block{
		"endpoints":           {"endpoints": tftypes.NewValue(tftypes.List{ElementType: tftypes.String}, tftypes.UnknownValue)},
		"one endpoint":        {"endpoints": tftypes.NewValue(tftypes.List{ElementType: tftypes.String}, []tftypes.Value{unknown})},
		"username":            {"username": unknown, "password": "swordfish"},
		"password":            {"username": "root", "password": unknown},
		"CA":                  {"ca_cert": unknown, "address_map": map[string]string{"a": "https://b"}},
		"certificate":         {"cert": unknown, "key": "x"},
		"key":                 {"cert": "x", "key": unknown},
		"file name":           {"ca_cert": unknown},
		"insecure":            {"insecure_skip_tls_verify": tftypes.NewValue(tftypes.Bool, tftypes.UnknownValue)},
		"duration":            {"dial_timeout": unknown},
		"address map":         {"address_map": tftypes.NewValue(tftypes.Map{ElementType: tftypes.String}, tftypes.UnknownValue)},
		"one mapped endpoint": {"address_map": tftypes.NewValue(tftypes.Map{ElementType: tftypes.String}, map[string]tftypes.Value{"https://a": unknown})},
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

// Only the ID of a cluster with names of its members states that they are gone. It comes
// from the environment of the run, and from nowhere else.
func TestClusterLost(t *testing.T) {
	for value, want := range map[string]string{
		"": "0 []", "8e9e05c52164694d:b": "8e9e05c52164694d [b]", "2A:b,c": "2a [b c]", "true": "", "yes": "", "0": "", "0:b": "",
		"0x2a:b": "", "2a": "", "2a:": "", "2a:b,": "", "b,c": "", ":b": "",
	} {
		r := &reader{getenv: func(k string) string { return map[string]string{"ETCD_CLUSTER_LOST": value}[k] }}
		s := r.clusterLost()
		if got := fmt.Sprint(s.Cluster, " ", s.Gone); r.diags.HasError() != (want == "") || got != cmp.Or(want, "0 []") {
			t.Errorf("%q: got %s, %v, want %s", value, got, r.diags, want)
		}
	}
	if _, argument := attributes()["cluster_lost"]; argument {
		t.Error("it is an argument, which outlives the run")
	}
}

// Only the ID of a member with the number of its change states that peer URLs are in use.
func TestURLsInUse(t *testing.T) {
	for value, want := range map[string]int{
		"": 0, "8e9e05c52164694d:57": 1, "8e9e05c52164694d:57,2a:58": 2, "true": -1, "2a": -1, "2a:": -1, ":57": -1, "2a:b": -1, "0:57": -1, "2a:57,": -1,
	} {
		r := &reader{getenv: func(k string) string { return map[string]string{"ETCD_PEER_URLS_IN_USE": value}[k] }}
		if got := r.urlsInUse(); r.diags.HasError() != (want < 0) || len(got) != max(want, 0) {
			t.Errorf("%q: got %v, %v", value, got, r.diags)
		}
	}
}
