// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// skipVerify is the argument that disables the verification of servers.
const skipVerify = "insecure_skip_tls_verify"

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
