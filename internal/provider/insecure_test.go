// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"slices"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/provider"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

func TestInsecureIsReported(t *testing.T) {
	const (
		insecure = "insecure_skip_tls_verify"
		variable = "ETCDCTL_INSECURE_SKIP_TLS_VERIFY"
	)
	pki := etcdtest.NewPKI(t)
	far, near := []string{"http://10.0.1.10:2379"}, []string{"http://127.0.0.1:2379", "http://[::1]:2379", "http://localhost:2379"}
	with := func(b block, more block) block {
		out := block{}
		for _, m := range []block{b, more} {
			for k, v := range m {
				out[k] = v
			}
		}
		return out
	}
	password := block{"username": "root", "password": "swordfish"}
	for name, c := range map[string]struct {
		block       block
		environment map[string]string
		want        []text.Message
	}{
		"nothing":                        {block: block{"endpoints": far}},
		"https":                          {block: with(password, block{"endpoints": []string{"https://10.0.1.10:2379"}})},
		"not verified":                   {block: block{insecure: true}, want: []text.Message{text.NotVerified(insecure)}},
		"not verified by environment":    {environment: map[string]string{variable: "true"}, want: []text.Message{text.NotVerified(variable)}},
		"verified in spite of it":        {block: block{insecure: false}, environment: map[string]string{variable: "true"}},
		"password over http":             {block: with(password, block{"endpoints": append(far, near...)}), want: []text.Message{text.PasswordInTheClear(far)}},
		"password over loopback":         {block: with(password, block{"endpoints": near})},
		"password through a tunnel":      {block: with(password, block{"endpoints": far, "address_map": map[string]string{far[0]: "127.0.0.1:12379"}})},
		"password away from this host":   {block: with(password, block{"endpoints": near[:1], "address_map": map[string]string{near[0]: "10.0.0.1:1"}}), want: []text.Message{text.PasswordInTheClear(near[:1])}},
		"no scheme":                      {block: block{"endpoints": []string{"10.0.1.10"}}},
		"no scheme, TLS":                 {block: block{"endpoints": []string{"10.0.1.10", "https://b:1"}, "ca_cert": pki.CAFile}, want: []text.Message{text.NoScheme([]string{`"10.0.1.10"`}, "https")}},
		"no scheme, password":            {block: with(password, block{"endpoints": []string{"localhost:2379"}}), want: []text.Message{text.NoScheme([]string{`"localhost:2379"`}, "http")}},
		"no scheme from the environment": {block: password, environment: map[string]string{"ETCDCTL_ENDPOINTS": "127.0.0.1:1"}, want: []text.Message{text.NoScheme([]string{`"127.0.0.1:1"`}, "http")}},
		"a far one without scheme, password": {
			block: with(password, block{"endpoints": []string{"10.0.1.10:2379"}}),
			want:  []text.Message{text.PasswordInTheClear(far), text.NoScheme([]string{`"10.0.1.10:2379"`}, "http")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, r := read(t, c.block, c.environment)
			if r.diags.HasError() || !slices.Equal(r.warnings, c.want) {
				t.Errorf("got %q, %v\nwant %q", r.warnings, r.diags, c.want)
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
