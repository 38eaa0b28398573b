// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

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
				content, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				v = string(content)
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
	if _, argument := attributes()["cluster_lost"]; argument {
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
