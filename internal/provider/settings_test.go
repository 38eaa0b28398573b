// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// setting is a provider block in an environment.
type setting struct {
	name        string
	block       block
	environment map[string]string
}

// and returns the block with more arguments.
func (b block) and(more block) block {
	out := maps.Clone(b)
	maps.Copy(out, more)
	return out
}

// good are blocks and environments without a mistake.
func good(pki *etcdtest.PKI, text func(file string) string) []setting {
	cert := pki.Client("root")
	far, near := []string{"http://10.0.1.10:2379"}, []string{"http://127.0.0.1:2379", "http://[::1]:2379", "http://localhost:2379"}
	user := block{"username": "root", "password": "swordfish"}
	tls := block{"endpoints": []string{"infra1"}}
	return []setting{
		{"nothing", nil, nil},
		{"everything but TLS", user.and(block{
			"endpoints": []string{"10.0.1.10", "http://10.0.1.11:4001", "10.0.1.10:2379"}, "dial_timeout": "1s", "request_timeout": "1m30s",
			"address_map": map[string]string{"10.0.1.10": "127.0.0.1:12379"},
		}), nil},
		{"environment", nil, map[string]string{
			"ETCDCTL_ENDPOINTS": "10.0.1.10:2379,10.0.1.11:2379", "ETCDCTL_USER": "root:sword:fish", "ETCDCTL_DIAL_TIMEOUT": "1s", "ETCDCTL_COMMAND_TIMEOUT": "9s",
		}},
		{"password of its own in the environment", nil, map[string]string{"ETCDCTL_USER": "root", "ETCDCTL_PASSWORD": "swordfish"}},
		{"user in the block, password in the environment", block{"username": "root"}, map[string]string{"ETCDCTL_PASSWORD": "swordfish"}},
		{"password in the block, user in the environment", block{"password": "swordfish"}, map[string]string{"ETCDCTL_USER": "root:other"}},
		{"the block wins", block{"endpoints": []string{"a"}, "username": "alice", "password": "secret", "dial_timeout": "3s", "request_timeout": "4s"}, map[string]string{
			"ETCDCTL_ENDPOINTS": "b", "ETCDCTL_USER": "root:swordfish", "ETCDCTL_PASSWORD": "other", "ETCDCTL_DIAL_TIMEOUT": "x", "ETCDCTL_COMMAND_TIMEOUT": "y",
		}},
		{"the block wins with nothing", block{"endpoints": []string{}, "username": ""}, map[string]string{"ETCDCTL_ENDPOINTS": "b", "ETCDCTL_USER": "root:swordfish"}},
		{"no user, and a password that lies about", block{"username": ""}, map[string]string{"ETCDCTL_PASSWORD": "swordfish"}},

		{"files", tls.and(block{"ca_cert": pki.CAFile, "cert": cert.CertFile, "key": cert.KeyFile}), nil},
		{"inline", tls.and(block{"ca_cert": text(pki.CAFile), "cert": text(cert.CertFile), "key": text(cert.KeyFile)}), nil},
		{"mixed", tls.and(block{"ca_cert": pki.CAFile, "cert": cert.CertFile, "key": text(cert.KeyFile)}), nil},
		{"only CA", tls.and(block{"ca_cert": pki.CAFile}), nil},
		{"insecure", tls.and(block{"insecure_skip_tls_verify": true}), nil},
		{"TLS of the environment", tls, map[string]string{
			"ETCDCTL_CACERT": pki.CAFile, "ETCDCTL_CERT": cert.CertFile, "ETCDCTL_KEY": cert.KeyFile, "ETCDCTL_INSECURE_SKIP_TLS_VERIFY": "1",
		}},
		{"the block's TLS wins", tls.and(block{"ca_cert": text(pki.CAFile), "cert": cert.CertFile, "key": cert.KeyFile, "insecure_skip_tls_verify": false}), map[string]string{
			"ETCDCTL_CACERT": "gone", "ETCDCTL_CERT": "gone", "ETCDCTL_KEY": "gone", "ETCDCTL_INSECURE_SKIP_TLS_VERIFY": "x",
		}},
		{"no certificate of the environment's", tls.and(block{"ca_cert": pki.CAFile, "cert": ""}), map[string]string{"ETCDCTL_CERT": "gone", "ETCDCTL_KEY": "gone"}},

		{"password over https", user.and(block{"endpoints": []string{"https://10.0.1.10:2379"}}), nil},
		{"password over http", user.and(block{"endpoints": append(far, near...)}), nil},
		{"password over loopback", user.and(block{"endpoints": near}), nil},
		{"password through a tunnel", user.and(block{"endpoints": far, "address_map": map[string]string{far[0]: "127.0.0.1:12379"}}), nil},
		{"password away from this host", user.and(block{"endpoints": near[:1], "address_map": map[string]string{near[0]: "10.0.0.1:1"}}), nil},
		{"no scheme", block{"endpoints": []string{"10.0.1.10"}}, nil},
		{"no scheme, TLS", block{"endpoints": []string{"10.0.1.10", "https://b:1"}, "ca_cert": pki.CAFile}, nil},
		{"no scheme, password", user.and(block{"endpoints": []string{"localhost:2379"}}), nil},
		{"no scheme from the environment", user, map[string]string{"ETCDCTL_ENDPOINTS": "127.0.0.1:1"}},
		{"a far one without scheme, password", user.and(block{"endpoints": []string{"10.0.1.10:2379"}}), nil},
	}
}

// bad are blocks and environments with one mistake.
func bad(pki *etcdtest.PKI, missing string) []setting {
	cert, other, expired := pki.Client("root"), pki.Client("other"), pki.ExpiredClient("root")
	const inline = "-----BEGIN NOTHING-----\n-----END NOTHING-----\n"
	return []setting{
		{"scheme", block{"endpoints": []string{"https://a", "ftp://b"}}, nil},
		{"empty endpoint", block{"endpoints": []string{""}}, nil},
		{"endpoint of the environment", nil, map[string]string{"ETCDCTL_ENDPOINTS": "https://a:1,https://b/c"}},
		{"password in an endpoint", block{"endpoints": []string{"https://root:swordfish@a"}}, nil},
		{"address map", block{"address_map": map[string]string{"https://a": "http://b"}}, nil},
		{"duration", block{"dial_timeout": "2 seconds"}, nil},
		{"empty duration", block{"request_timeout": ""}, nil},
		{"duration of the environment", nil, map[string]string{"ETCDCTL_COMMAND_TIMEOUT": "5"}},
		{"no time at all", block{"request_timeout": "0s"}, nil},
		{"user without password", block{"username": "root"}, nil},
		{"another user's password", block{"username": "root"}, map[string]string{"ETCDCTL_USER": "alice:swordfish"}},
		{"user of the environment without password", nil, map[string]string{"ETCDCTL_USER": "root"}},
		{"password without user", block{"password": "swordfish"}, nil},
		{"two passwords", nil, map[string]string{"ETCDCTL_USER": "root:swordfish", "ETCDCTL_PASSWORD": "other"}},
		{"neither true nor false", nil, map[string]string{"ETCDCTL_INSECURE_SKIP_TLS_VERIFY": "yes"}},
		{"certificate without key", block{"cert": cert.CertFile}, map[string]string{"ETCDCTL_KEY": cert.KeyFile}},
		{"key without certificate", block{"key": "x"}, nil},
		{"no file", block{"ca_cert": missing}, nil},
		{"no file of the environment's", nil, map[string]string{"ETCDCTL_CACERT": missing}},
		{"a key whose first dash is lost", block{"cert": cert.CertFile, "key": inline[1:]}, nil},
		{"a key without its PEM header", nil, map[string]string{"ETCDCTL_CERT": cert.CertFile, "ETCDCTL_KEY": "MC4CAQAwBQYDK2VwBCIEIB"}},
		{"a key without its certificate", block{"key": inline}, nil},
		{"a bundle without its key", block{"cert": inline}, nil},
		{"no CA", block{"ca_cert": inline}, nil},
		{"no certificate", block{"cert": cert.KeyFile, "key": cert.KeyFile}, nil},
		{"no key", block{"cert": cert.CertFile, "key": cert.CertFile}, nil},
		{"another key", block{"cert": cert.CertFile, "key": other.KeyFile}, nil},
		{"encrypted key", block{"cert": cert.CertFile, "key": "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMAA=\n-----END ENCRYPTED PRIVATE KEY-----\n"}, nil},
		{"expired certificate", block{"cert": expired.CertFile, "key": expired.KeyFile}, nil},
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

// TestSettings compares what becomes of provider blocks and environments, and what a user is
// told of mistakes, with testdata/settings.txt: where, what, and which value is shown.
// UPDATE=1 rewrites the file.
func TestSettings(t *testing.T) {
	pki := etcdtest.NewPKI(t)
	missing := filepath.Join(t.TempDir(), "ca.pem")
	text := func(file string) string {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	var got strings.Builder
	describe := func(all []setting, errors int) {
		for _, c := range all {
			s, r := read(t, c.block, c.environment)
			if len(r.diags) != errors || r.unknown {
				t.Fatalf("%s: want %d errors, got %v; unknown: %v", c.name, errors, r.diags, r.unknown)
			}
			fmt.Fprintf(&got, "== %s\n%s\n", c.name, described(s, r))
		}
	}
	describe(good(pki, text), 0)
	describe(bad(pki, missing), 1)
	shown := date.ReplaceAllString(strings.NewReplacer(filepath.Dir(pki.CAFile), "PKI", filepath.Dir(missing), "DIR").Replace(got.String()), "DATE")
	file := filepath.Join("testdata", "settings.txt")
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(file, []byte(shown), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || string(want) != shown {
		t.Errorf("the settings differ from %s (%v). If they should, run with UPDATE=1 and read the difference.\n%s", file, err, shown)
	}
}

var date = regexp.MustCompile(`[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} [\d:]+ UTC`)
