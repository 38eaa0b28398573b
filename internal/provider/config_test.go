// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"crypto/x509"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
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
				"dial_timeout": "1s", "request_timeout": "1m30s", "metadata_prefix": "/mine",
				"address_map": map[string]string{"10.0.1.10": "127.0.0.1:12379"},
			},
			want: connection.Settings{
				Endpoints: []string{"http://10.0.1.10:2379", "http://10.0.1.11:4001"}, Username: "root", Password: "swordfish",
				DialTimeout: time.Second, RequestTimeout: 90 * time.Second, MetadataPrefix: "/mine/",
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
			if want.MetadataPrefix == "" {
				want.MetadataPrefix = connection.DefaultMetadataPrefix
			}
			if !slices.Equal(got.Endpoints, want.Endpoints) || !maps.Equal(got.AddressMap, want.AddressMap) ||
				got.Username != want.Username || got.Password != want.Password || got.TLS != nil ||
				got.DialTimeout != want.DialTimeout || got.RequestTimeout != want.RequestTimeout || got.MetadataPrefix != want.MetadataPrefix {
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
		"inline":   {block: block{"ca_cert_pem": text(pki.CAFile), "cert_pem": text(cert.CertFile), "key_pem": text(cert.KeyFile)}, certs: 1},
		"mixed":    {block: block{"ca_cert": pki.CAFile, "cert": cert.CertFile, "key_pem": text(cert.KeyFile)}, certs: 1},
		"only CA":  {block: block{"ca_cert": pki.CAFile}},
		"insecure": {block: block{"insecure_skip_tls_verify": true}, insecure: true},
		"environment": {
			environment: map[string]string{"ETCDCTL_CACERT": pki.CAFile, "ETCDCTL_CERT": cert.CertFile, "ETCDCTL_KEY": cert.KeyFile, "ETCDCTL_INSECURE_SKIP_TLS_VERIFY": "1"},
			certs:       1, insecure: true,
		},
		"the block wins": {
			block:       block{"ca_cert_pem": text(pki.CAFile), "cert": cert.CertFile, "key": cert.KeyFile, "insecure_skip_tls_verify": false},
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

func TestBadSettings(t *testing.T) {
	pki := etcdtest.NewPKI(t)
	cert, other, expired := pki.Client("root"), pki.Client("other"), pki.ExpiredClient("root")
	missing := filepath.Join(t.TempDir(), "ca.pem")
	const inline = "-----BEGIN NOTHING-----\n-----END NOTHING-----\n"
	for name, c := range map[string]struct {
		block         block
		environment   map[string]string
		summary, text string
		at            string
	}{
		"scheme": {
			block{"endpoints": []string{"https://a", "ftp://b"}}, nil, "Invalid endpoint",
			`endpoints[1]: "ftp://b" has the scheme "ftp"; etcd clients speak http or https. Expected a scheme, a host and a port, such as https://10.0.1.10:2379.`,
			"endpoints[1]",
		},
		"empty endpoint": {
			block{"endpoints": []string{""}}, nil, "Invalid endpoint",
			`endpoints[0]: "" is empty. Expected a scheme, a host and a port, such as https://10.0.1.10:2379.`, "endpoints[0]",
		},
		"endpoint of the environment": {
			nil, map[string]string{"ETCDCTL_ENDPOINTS": "https://a:1,https://b/c"}, "Invalid endpoint",
			`ETCDCTL_ENDPOINTS: "https://b/c" has the path "/c"; it must end after the port. Expected a scheme, a host and a port, such as https://10.0.1.10:2379.`, "",
		},
		"password in an endpoint": {
			block{"endpoints": []string{"https://root:swordfish@a"}}, nil, "Invalid endpoint",
			`endpoints[0]: "https://***@a" contains user information; use username and password instead. Expected a scheme, a host and a port, such as https://10.0.1.10:2379.`,
			"endpoints[0]",
		},
		"address map": {
			block{"address_map": map[string]string{"https://a": "http://b"}}, nil, "Invalid address map",
			`address_map: "http://b" has another scheme than the advertised URL it stands for (https://a:2379). Each pair leads an advertised client URL to the URL that can be dialled from here, such as "https://10.0.1.10:2379" = "https://bastion.example.com:12379".`,
			"address_map",
		},
		"duration": {
			block{"dial_timeout": "2 seconds"}, nil, "Invalid duration",
			`dial_timeout is "2 seconds", which is not a duration of more than zero. Expected a number with a unit, such as 500ms, 90s, 5m or 1h30m.`, "dial_timeout",
		},
		"empty duration": {
			block{"request_timeout": ""}, nil, "Invalid duration",
			`request_timeout is "", which is not a duration of more than zero. Expected a number with a unit, such as 500ms, 90s, 5m or 1h30m.`, "request_timeout",
		},
		"duration of the environment": {
			nil, map[string]string{"ETCDCTL_COMMAND_TIMEOUT": "5"}, "Invalid duration",
			`ETCDCTL_COMMAND_TIMEOUT is "5", which is not a duration of more than zero. Expected a number with a unit, such as 500ms, 90s, 5m or 1h30m.`, "",
		},
		"no time at all": {
			block{"request_timeout": "0s"}, nil, "Invalid duration",
			`request_timeout is "0s", which is not a duration of more than zero. Expected a number with a unit, such as 500ms, 90s, 5m or 1h30m.`, "request_timeout",
		},
		"prefix": {
			block{"metadata_prefix": "mine"}, nil, "Invalid metadata prefix",
			`metadata_prefix is "mine". It is where the provider keeps its ownership records and locks in the cluster: it begins with a slash and names a place of their own, such as /_terraform/etcd/ (the default).`,
			"metadata_prefix",
		},
		"prefix of everything": {
			block{"metadata_prefix": "/"}, nil, "Invalid metadata prefix",
			`metadata_prefix is "/". It is where the provider keeps its ownership records and locks in the cluster: it begins with a slash and names a place of their own, such as /_terraform/etcd/ (the default).`,
			"metadata_prefix",
		},
		"user without password": {
			block{"username": "root"}, nil, "User name without password",
			`username names the user "root", and there is no password. Set password in the provider block, or the environment variable ETCDCTL_PASSWORD; to authenticate with a client certificate alone, leave the user name out.`,
			"username",
		},
		"another user's password": {
			block{"username": "root"}, map[string]string{"ETCDCTL_USER": "alice:swordfish"}, "User name without password",
			`username names the user "root", and there is no password. Set password in the provider block, or the environment variable ETCDCTL_PASSWORD; to authenticate with a client certificate alone, leave the user name out.`,
			"username",
		},
		"user of the environment without password": {
			nil, map[string]string{"ETCDCTL_USER": "root"}, "User name without password",
			`ETCDCTL_USER names the user "root", and there is no password. Set password in the provider block, or the environment variable ETCDCTL_PASSWORD; to authenticate with a client certificate alone, leave the user name out.`,
			"",
		},
		"password without user": {
			block{"password": "swordfish"}, nil, "Password without user name",
			"password is set, and there is no user name. Set username in the provider block, or the environment variable ETCDCTL_USER; membership needs a user with the root role.",
			"password",
		},
		"two passwords": {
			nil, map[string]string{"ETCDCTL_USER": "root:swordfish", "ETCDCTL_PASSWORD": "other"}, "Two passwords in the environment",
			"ETCDCTL_USER holds a password after its colon, and ETCDCTL_PASSWORD is set as well. Leave one of them out; or set username and password in the provider block, which win.",
			"",
		},
		"neither true nor false": {
			nil, map[string]string{"ETCDCTL_INSECURE_SKIP_TLS_VERIFY": "yes"}, "Invalid environment variable",
			`ETCDCTL_INSECURE_SKIP_TLS_VERIFY is "yes". Expected true or false. To override it, set insecure_skip_tls_verify in the provider block.`, "",
		},
		"path and text": {
			block{"ca_cert": pki.CAFile, "ca_cert_pem": "x"}, nil, "Conflicting TLS arguments",
			"ca_cert and ca_cert_pem are both set. Give the path of a file or the PEM text itself, not both.", "ca_cert",
		},
		"certificate without key": {
			block{"cert": cert.CertFile}, map[string]string{"ETCDCTL_KEY": cert.KeyFile}, "Client certificate without its key",
			"cert (" + cert.CertFile + ") is set, and its private key is not. Set key or key_pem as well, next to the certificate.", "cert",
		},
		"key without certificate": {
			block{"key_pem": "x"}, nil, "Private key without its certificate",
			"key_pem is set, and the client certificate is not. Set cert or cert_pem as well, next to the key.", "key_pem",
		},
		"no file": {
			block{"ca_cert": missing}, nil, "Cannot read TLS file",
			"ca_cert (" + missing + "): no such file or directory. The file must be there when the provider is configured, also for a plan; what is made in the same apply goes into ca_cert_pem.",
			"ca_cert",
		},
		"no file of the environment's": {
			nil, map[string]string{"ETCDCTL_CACERT": missing}, "Cannot read TLS file",
			"ETCDCTL_CACERT (" + missing + "): no such file or directory. The file must be there when the provider is configured, also for a plan; what is made in the same apply goes into ca_cert_pem.",
			"",
		},
		"no CA": {
			block{"ca_cert_pem": inline}, nil, "Invalid TLS material",
			"ca_cert_pem holds no usable PEM block. Expected text that begins with -----BEGIN and, for key, is a private key, otherwise a certificate.", "ca_cert_pem",
		},
		"no certificate": {
			block{"cert": cert.KeyFile, "key": cert.KeyFile}, nil, "Invalid TLS material",
			"cert (" + cert.KeyFile + ") holds no usable PEM block. Expected text that begins with -----BEGIN and, for key, is a private key, otherwise a certificate.", "cert",
		},
		"no key": {
			block{"cert": cert.CertFile, "key": cert.CertFile}, nil, "Invalid TLS material",
			"key (" + cert.CertFile + ") holds no usable PEM block. Expected text that begins with -----BEGIN and, for key, is a private key, otherwise a certificate.", "key",
		},
		"another key": {
			block{"cert": cert.CertFile, "key": other.KeyFile}, nil, "Private key of another certificate",
			"key (" + other.KeyFile + ") is not the key of the client certificate. Give the certificate and the key that were made together.", "key",
		},
		"encrypted key": {
			block{"cert": cert.CertFile, "key_pem": "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMAA=\n-----END ENCRYPTED PRIVATE KEY-----\n"}, nil, "Encrypted private key",
			"key_pem is protected by a pass phrase, which the provider cannot ask for. Decrypt it (openssl pkey -in FILE -out FILE).", "key_pem",
		},
		"expired certificate": {
			block{"cert": expired.CertFile, "key": expired.KeyFile}, nil, "Client certificate expired",
			"cert (" + expired.CertFile + ") expired on " + expiry(t, pki, expired) + "; no server accepts it. Issue a new one.", "cert",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, r := read(t, c.block, c.environment)
			if len(r.diags) != 1 {
				t.Fatalf("want one diagnostic, got %v", r.diags)
			}
			d := r.diags[0]
			if d.Summary() != c.summary || d.Detail() != c.text {
				t.Errorf("got\n%s\n%s\nwant\n%s\n%s", d.Summary(), d.Detail(), c.summary, c.text)
			}
			at := ""
			if located, ok := d.(diag.DiagnosticWithPath); ok {
				at = located.Path().String()
			}
			if at != c.at {
				t.Errorf("at %q, want %q", at, c.at)
			}
		})
	}
}

// expiry returns the time at which a certificate expires, as text.
func expiry(t *testing.T, pki *etcdtest.PKI, cert etcdtest.Cert) string {
	t.Helper()
	leaf, err := x509.ParseCertificate(pki.ClientConfig(cert).Certificates[0].Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	return leaf.NotAfter.UTC().Format("Mon, 02 Jan 2006 15:04:05 UTC")
}

func TestUnknownSettings(t *testing.T) {
	unknown := tftypes.NewValue(tftypes.String, tftypes.UnknownValue)
	for name, b := range map[string]block{
		"endpoints":           {"endpoints": tftypes.NewValue(tftypes.List{ElementType: tftypes.String}, tftypes.UnknownValue)},
		"one endpoint":        {"endpoints": tftypes.NewValue(tftypes.List{ElementType: tftypes.String}, []tftypes.Value{unknown})},
		"username":            {"username": unknown, "password": "swordfish"},
		"password":            {"username": "root", "password": unknown},
		"CA":                  {"ca_cert_pem": unknown, "address_map": map[string]string{"a": "https://b"}},
		"certificate":         {"cert_pem": unknown, "key_pem": "x"},
		"key":                 {"cert_pem": "x", "key_pem": unknown},
		"file name":           {"ca_cert": unknown},
		"insecure":            {"insecure_skip_tls_verify": tftypes.NewValue(tftypes.Bool, tftypes.UnknownValue)},
		"duration":            {"dial_timeout": unknown},
		"prefix":              {"metadata_prefix": unknown},
		"address map":         {"address_map": tftypes.NewValue(tftypes.Map{ElementType: tftypes.String}, tftypes.UnknownValue)},
		"one mapped endpoint": {"address_map": tftypes.NewValue(tftypes.Map{ElementType: tftypes.String}, map[string]tftypes.Value{"https://a": unknown})},
	} {
		t.Run(name, func(t *testing.T) {
			if _, r := read(t, b, nil); len(r.diags) > 0 || !r.unknown {
				t.Errorf("unknown %v, %v", r.unknown, r.diags)
			}
			p := &Provider{pool: &connection.Pool{}}
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
		"bad text":                {block{"ca_cert_pem": "x"}, 1},
		"two mistakes":            {block{"ca_cert_pem": "x", "dial_timeout": "soon"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			var resp provider.ValidateConfigResponse
			(&Provider{}).ValidateConfig(t.Context(), provider.ValidateConfigRequest{Config: config(t, c.block)}, &resp)
			if resp.Diagnostics.ErrorsCount() != c.errors {
				t.Errorf("want %d errors, got %v", c.errors, resp.Diagnostics)
			}
		})
	}
}

// The block takes precedence over the environment, and an unknown value does
// not block anything.
func TestForceDestroy(t *testing.T) {
	for _, c := range []struct {
		name  string
		block any
		env   string
		want  bool
		fails bool
	}{
		{name: "nothing"},
		{name: "block", block: true, want: true},
		{name: "environment", env: "true", want: true},
		{name: "environment, a digit", env: "1", want: true},
		{name: "environment, off", env: "0"},
		{name: "environment, neither", env: "yes", fails: true},
		{name: "block over environment", block: false, env: "true"},
		{name: "not known", block: tftypes.NewValue(tftypes.Bool, tftypes.UnknownValue), env: "true"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := block{}
			if c.block != nil {
				b["force_destroy"] = c.block
			}
			var m model
			if diags := config(t, b).Get(t.Context(), &m); diags.HasError() {
				t.Fatal(diags)
			}
			r := &reader{getenv: func(k string) string { return map[string]string{"ETCD_FORCE_DESTROY": c.env}[k] }}
			if got := r.forceDestroy(m); got != c.want || r.diags.HasError() != c.fails || r.unknown {
				t.Errorf("got %v, %v, unknown %v", got, r.diags, r.unknown)
			}
		})
	}
}
