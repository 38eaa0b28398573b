// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// skipVerify is the argument that disables the verification of servers.
const skipVerify = "insecure_skip_tls_verify"

// trustedHosts reads the hosts that may receive the credentials in addition to
// those of the endpoints and of the address map.
func (r *reader) trustedHosts(v types.List) []connection.HostPattern {
	var out []connection.HostPattern
	r.each(v, "trusted_hosts", func(at path.Path, host string) {
		pattern, err := connection.ParseHostPattern(host)
		if problem, ok := errors.AsType[*connection.HostError](err); ok {
			r.fail(at, text.InvalidTrustedHost(at.String(), problem))
			return
		}
		out = append(out, pattern)
	})
	return out
}

// warn records settings that are insecure but allowed.
func (r *reader) warn(s connection.Settings, material connection.TLSMaterial, sources map[string]string, secure bool) {
	if material.InsecureSkipVerify {
		r.warnings = append(r.warnings, text.NotVerified(sources[skipVerify]))
	}
	if plain := s.InTheClear(); len(plain) > 0 {
		r.warnings = append(r.warnings, text.PasswordInTheClear(plain))
	}
	if (s.Username != "" || secure) && len(r.bare) > 0 {
		scheme := "http"
		if secure {
			scheme = "https"
		}
		r.warnings = append(r.warnings, text.NoScheme(r.bare, scheme))
	}
}
