// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package connection

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"reflect"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/must"
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

func TestRefusal(t *testing.T) {
	ca := &tls.Config{RootCAs: x509.NewCertPool()}
	cert := &tls.Config{Certificates: []tls.Certificate{{}}}
	both := &tls.Config{RootCAs: x509.NewCertPool(), Certificates: []tls.Certificate{{}}}
	unverified := &tls.Config{RootCAs: x509.NewCertPool(), Certificates: []tls.Certificate{{}}, InsecureSkipVerify: true}
	base := Settings{
		Endpoints:  []string{"https://10.0.0.1:2379", "https://d.example:2379"},
		AddressMap: map[string]string{"https://b.internal:2379": "https://bastion:12379", "http://c.internal:2379": "http://bastion:12380"},
	}
	password := func(s Settings) Settings { s.Username, s.Password = "root", "secret"; return s }
	with := func(c *tls.Config) Settings { s := base; s.TLS = c; return s }
	plain := base
	plain.Endpoints = []string{"http://10.0.0.1:2379"}
	for name, test := range map[string]struct {
		s    Settings
		url  string
		own  []string
		want Refusal
	}{
		"endpoint":                            {password(with(ca)), "https://10.0.0.1:2379", nil, ""},
		"other port of an endpoint's host":    {password(with(ca)), "https://10.0.0.1:2381", nil, ""},
		"an endpoint's host in the clear":     {password(with(ca)), "http://10.0.0.1:2381", nil, PlainText},
		"advertised alone":                    {password(with(ca)), "https://10.9.9.9:2379", nil, Unnamed},
		"address map, left":                   {password(with(ca)), "https://b.internal:2379", nil, ""},
		"address map, right":                  {password(with(ca)), "https://bastion:2379", nil, ""},
		"address map in the clear, password":  {password(with(ca)), "http://c.internal:2379", nil, PlainText},
		"address map in the clear":            {with(both), "http://c.internal:2379", nil, ""},
		"an endpoint's host, mapped address":  {password(with(ca)), "https://[::ffff:10.0.0.1]:2379", nil, ""},
		"a name, whatever its case":           {password(with(ca)), "https://D.Example:2380", nil, ""},
		"below a name":                        {password(with(ca)), "https://x.d.example:2379", nil, Unnamed},
		"a name that ends alike":              {password(with(ca)), "https://evild.example:2379", nil, Unnamed},
		"the resource's own":                  {password(with(ca)), "https://10.9.9.9:2379", []string{"https://10.9.9.9:2380"}, ""},
		"the resource's own in the clear":     {password(with(ca)), "http://10.9.9.9:2379", []string{"https://10.9.9.9:2380"}, PlainText},
		"certificate, configured CA":          {with(both), "https://10.9.9.9:2379", nil, ""},
		"certificate, the system's CAs":       {with(cert), "https://10.9.9.9:2379", nil, Unverified},
		"certificate, not verified":           {with(unverified), "https://10.9.9.9:2379", nil, Unverified},
		"certificate, the system's CAs, own":  {with(cert), "https://10.0.0.1:2381", nil, ""},
		"certificate and password":            {password(with(both)), "https://10.9.9.9:2379", nil, Unnamed},
		"nothing secret":                      {with(ca), "https://10.9.9.9:2379", nil, ""},
		"nothing secret, in the clear":        {with(ca), "http://10.9.9.9:2379", nil, PlainText},
		"plain endpoints":                     {plain, "http://10.9.9.9:2379", nil, ""},
		"plain endpoints, password":           {password(plain), "http://10.9.9.9:2379", nil, Unnamed},
		"plain, endpoint":                     {password(plain), "http://10.0.0.1:2379", nil, ""},
		"plain, other port":                   {password(plain), "http://10.0.0.1:2381", nil, Unnamed},
		"plain, address map, left":            {password(plain), "http://c.internal:2379", nil, ""},
		"plain, address map, right":           {password(plain), "http://bastion:12380", nil, ""},
		"plain, other port of a map target":   {password(plain), "http://bastion:12379", nil, Unnamed},
		"plain, the resource's own":           {password(plain), "http://10.9.9.9:2379", []string{"http://10.9.9.9:2379"}, ""},
		"plain, port of the resource's own":   {password(plain), "http://10.9.9.9:2379", []string{"http://10.9.9.9:2380"}, Unnamed},
		"plain, own host by https":            {password(plain), "http://10.9.9.9:2379", []string{"https://10.9.9.9:2379"}, Unnamed},
		"plain, from the state":               {password(plain).Where([]string{"http://e:2379"}), "http://e:2379", nil, Unnamed},
		"plain, the provider's beside it":     {password(plain).Where([]string{"http://e:2379"}), "http://10.0.0.1:2379", nil, ""},
		"a resource's endpoint":               {password(with(ca)).At([]string{"https://e:2379"}), "https://e:2379", nil, ""},
		"the provider's beside a resource's":  {password(with(ca)).At([]string{"https://e:2379"}), "https://10.0.0.1:2379", nil, ""},
		"http next to the provider's https":   {password(with(ca)).At([]string{"http://e:2379"}), "http://10.0.0.1:2379", nil, PlainText},
		"from the state":                      {password(with(ca)).Where([]string{"https://e:2379"}), "https://e:2379", nil, Unnamed},
		"from the state, without a password":  {with(both).Where([]string{"https://e:2379"}), "https://e:2379", nil, ""},
		"from the state, the resource's own":  {password(with(ca)).Where([]string{"https://e:2379"}), "https://e:2379", []string{"https://e:2380"}, ""},
		"from the state, in the clear":        {with(both).Where([]string{"http://e:2379"}), "http://e:2379", nil, PlainText},
		"the provider's beside what is known": {password(with(ca)).Where([]string{"https://e:2379"}), "https://10.0.0.1:2379", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			url, err := ParseEndpoint(test.url, false)
			must.Succeed(t, err)
			if got := test.s.Refusal(TrustHosts(t.Context(), test.own...), url); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
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
