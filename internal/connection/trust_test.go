// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package connection

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// mayAsk is an independent implementation of the rule, for each secret.
func mayAsk(f facts) bool {
	mayPassword := f.endpoint || f.named && (!f.plain || !f.secured)
	mayShow := f.endpoint || f.named || f.verified
	mayBelieve := f.endpoint || f.mapped || !f.plain || !f.secured
	if f.password && !mayPassword {
		return false
	}
	if f.certificate && !f.plain && !mayShow {
		return false
	}
	return mayBelieve
}

func TestTrustTable(t *testing.T) {
	const bits = 8
	refused := map[Refusal]int{}
	for n := range 1 << bits {
		bit := func(i int) bool { return n>>i&1 == 1 }
		f := facts{bit(0), bit(1), bit(2), bit(3), bit(4), bit(5), bit(6), bit(7)}
		f.named = f.named || f.endpoint || f.mapped
		got := judge(f)
		refused[got]++
		if (got == "") != mayAsk(f) {
			t.Errorf("%+v: got %q, the naive rule says %v", f, got, mayAsk(f))
		}
	}
	for _, r := range []Refusal{"", PlainText, Unnamed, Unverified} {
		if refused[r] == 0 {
			t.Errorf("%q was never the outcome", r)
		}
	}
}

// TestRefusal runs testdata/trust.txt. -rewrite rewrites the file.
func TestRefusal(t *testing.T) {
	datadriven.RunTest(t, filepath.Join("testdata", "trust.txt"), func(t *testing.T, d *datadriven.TestData) string {
		s := Settings{
			Endpoints:  []string{"https://10.0.0.1:2379", "https://d.example:2379"},
			AddressMap: map[string]string{"https://b.internal:2379": "https://bastion:12379", "http://c.internal:2379": "http://bastion:12380"},
			TLS:        &tls.Config{InsecureSkipVerify: d.HasArg("unverified")},
		}
		if d.HasArg("plain") {
			s.Endpoints, s.TLS = []string{"http://10.0.0.1:2379"}, nil
		}
		if d.HasArg("ca") {
			s.TLS.RootCAs = x509.NewCertPool()
		}
		if d.HasArg("certificate") {
			s.TLS.Certificates = []tls.Certificate{{}}
		}
		if d.HasArg("password") {
			s.Username, s.Password = "root", "secret"
		}
		for _, arg := range d.CmdArgs {
			switch arg.Key {
			case "at":
				s = s.At(arg.Vals)
			case "where":
				s = s.Where(arg.Vals)
			}
		}
		var out strings.Builder
		for line := range strings.Lines(d.Input) {
			asked, own, _ := strings.Cut(strings.TrimSpace(line), " own=")
			url, err := ParseEndpoint(asked, false)
			must.Succeed(t, err)
			fmt.Fprintln(&out, cmp.Or(s.Refusal(TrustHosts(t.Context(), own), url), "asked"))
		}
		return out.String()
	})
}

func TestPublic(t *testing.T) {
	s := Settings{
		Endpoints: []string{"https://10.0.0.1:443", "https://10.0.0.2:2379"}, Username: "root", Password: "secret",
		TLS: &tls.Config{Certificates: []tls.Certificate{{}}},
	}
	for base, secret := range map[string]bool{
		"https://10.0.0.1": true, "https://10.0.0.1:443": true, "https://10.0.0.2:2379": true,
		"http://10.0.0.2:2379": false, "https://10.0.0.2:2380": false, "https://10.0.0.3:2379": false, "https://10.0.0.2": false,
	} {
		got := s.Public(base)
		if has := got.Username != "" || got.Password != "" || got.hasCertificate(); has != secret {
			t.Errorf("%s: got secrets %v, want %v", base, has, secret)
		}
	}
	if s.Username == "" || !s.hasCertificate() {
		t.Error("the settings themselves were changed")
	}
}

// Test that TrustHosts affects one call, and that Trust returns only what it changes.
func TestTrustOfACall(t *testing.T) {
	s := Settings{Endpoints: []string{"https://a:2379"}}
	ctx := TrustHosts(TrustHosts(t.Context(), "https://c:2380", "https://a:2380"), "https://b:2380", "", "not a URL")
	if got := s.Trust(ctx); got != "" {
		t.Errorf("without a secret: got %q", got)
	}
	s.Username = "root"
	if got := s.Trust(ctx); got != "b c" {
		t.Errorf("got %q, want b and c", got)
	}
	if got := s.Trust(context.Background()); got != "" {
		t.Errorf("another call: got %q", got)
	}
	if got := s.Trust(TrustHosts(ctx, "http://a:1", "http://a:2379")); got != "b c http://a:1 http://a:2379" {
		t.Errorf("in the clear: got %q", got)
	}
	unnamed, plain := s.Untrusted([]string{"https://c:2379", "https://a:1", "http://b:2379", "https://b:2379", "https://b:2381"})
	if !reflect.DeepEqual(unnamed, []string{"https://b:2379", "https://b:2381", "https://c:2379"}) || !reflect.DeepEqual(plain, []string{"http://b:2379"}) {
		t.Errorf("untrusted: got %q and %q", unnamed, plain)
	}
}

func TestNamedOf(t *testing.T) {
	t.Parallel()
	s := Settings{Endpoints: []string{"http://a:2379"}, AddressMap: map[string]string{"http://b:1": "http://c:1"}}
	got := s.NamedOf([]string{"http://A:2379", "http://a:2380", "https://a:2379", "http://b:1", "http://c:1", "http://d:1", "%"})
	if want := []string{"http://a:2379", "http://b:1", "http://c:1"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Endpoints of the provider and of a resource count alike, and so does the address map.
func TestInTheClear(t *testing.T) {
	t.Parallel()
	const far, near = "http://10.0.0.1:2379", "http://127.0.0.1:2379"
	for name, c := range map[string]struct {
		s    Settings
		want []string
	}{
		"endpoints":              {Settings{Endpoints: []string{near, far}}, []string{far}},
		"a resource's":           {Settings{Endpoints: []string{near}}.At([]string{far, near}), []string{far}},
		"known from the state":   {Settings{Endpoints: []string{near}}.Where([]string{far}), nil},
		"through a tunnel":       {Settings{Endpoints: []string{far}, AddressMap: map[string]string{far: near}}, nil},
		"mapped":                 {Settings{Endpoints: []string{near}, AddressMap: map[string]string{"http://b:1": far}}, []string{"http://b:1"}},
		"mapped, https endpoint": {Settings{Endpoints: []string{"https://a:1"}, AddressMap: map[string]string{"http://b:1": far}}, nil},
		"https":                  {Settings{Endpoints: []string{"https://10.0.0.1:2379"}}, nil},
	} {
		if got := c.s.InTheClear(); got != nil {
			t.Errorf("%s, no password: got %q", name, got)
		}
		c.s.Username = "root"
		if got := c.s.InTheClear(); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
