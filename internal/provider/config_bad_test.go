// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// TestBadSettings compares what a user is told about mistakes in the provider block and
// in the environment with testdata/settings.txt: where, what, and which value is shown.
// UPDATE=1 rewrites the file.
func TestBadSettings(t *testing.T) {
	pki := etcdtest.NewPKI(t)
	cert, other, expired := pki.Client("root"), pki.Client("other"), pki.ExpiredClient("root")
	missing := filepath.Join(t.TempDir(), "ca.pem")
	const inline = "-----BEGIN NOTHING-----\n-----END NOTHING-----\n"
	var got strings.Builder
	for _, c := range []struct {
		name        string
		block       block
		environment map[string]string
	}{
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
	} {
		_, r := read(t, c.block, c.environment)
		if len(r.diags) != 1 {
			t.Fatalf("%s: want one diagnostic, got %v", c.name, r.diags)
		}
		at := "environment"
		if located, ok := r.diags[0].(diag.DiagnosticWithPath); ok {
			at = located.Path().String()
		}
		fmt.Fprintf(&got, "== %s\n%s: %s\n%s\n\n", c.name, at, r.diags[0].Summary(), r.diags[0].Detail())
	}
	shown := date.ReplaceAllString(strings.NewReplacer(filepath.Dir(pki.CAFile), "PKI", filepath.Dir(missing), "DIR").Replace(got.String()), "DATE")
	file := filepath.Join("testdata", "settings.txt")
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(file, []byte(shown), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || string(want) != shown {
		t.Errorf("the texts differ from %s (%v). If they should, run with UPDATE=1 and read the difference.\n%s", file, err, shown)
	}
}

var date = regexp.MustCompile(`[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} [\d:]+ UTC`)
