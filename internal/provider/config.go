// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// reader turns the provider block and the environment into settings. A value in
// the block takes precedence, even if it is "".
type reader struct {
	getenv func(string) string
	now    time.Time
	// files reports whether files are read. Validation does not read them,
	// because they may be created before the plan.
	files bool

	diags diag.Diagnostics
	// warnings are about insecure settings, for [Provider.Configure].
	warnings []text.Message
	// bare are the endpoints without a scheme, as written.
	bare []string
	// unknown becomes true if a value is not known yet.
	unknown bool
}

// settings reads every value that is known. It does not connect to a server.
func (r *reader) settings(m model) connection.Settings {
	s := connection.Settings{
		DialTimeout:    r.duration(m.DialTimeout, "dial_timeout", envDialTimeout, connection.DefaultDialTimeout),
		RequestTimeout: r.duration(m.RequestTimeout, "request_timeout", envCommandTimeout, connection.DefaultRequestTimeout),
	}
	s.Username, s.Password = r.credentials(m)
	material, sources := r.tlsMaterial(m)
	partly := m.tlsUnknown()
	// If not all is known, assume TLS, so that nothing is refused too early.
	secure := partly || material != connection.TLSMaterial{}
	if err := r.loadTLS(&s, material, partly); err != nil {
		if problem, ok := errors.AsType[*connection.TLSError](err); ok {
			source, ok := sources[problem.Argument]
			if !ok {
				source = problem.Argument
			}
			r.fail(argumentPath(source), text.TLSMaterial(source, problem))
		}
	}
	s.Endpoints = r.endpoints(m.Endpoints, secure)
	s.AddressMap = r.addressMap(m.AddressMap, secure)
	r.warn(s, material, sources, secure)
	return s
}

// loadTLS sets s.TLS as far as the known values allow. partly reports whether
// some of the material is not known yet.
func (r *reader) loadTLS(s *connection.Settings, material connection.TLSMaterial, partly bool) error {
	if partly {
		return nil
	}
	if err := material.Check(); err != nil || material.Files() && !r.files {
		return err
	}
	config, err := connection.LoadTLS(material, r.now)
	s.TLS = config
	return err
}

func (r *reader) fail(at path.Path, words text.Message) {
	if at.Equal(path.Empty()) {
		r.diags.AddError(words.Summary, words.Detail)
		return
	}
	r.diags.AddAttributeError(at, words.Summary, words.Detail)
}

// argumentPath returns the path of an argument. It is empty for an environment variable.
func argumentPath(source string) path.Path {
	if strings.HasPrefix(source, "ETCDCTL_") {
		return path.Empty()
	}
	return path.Root(source)
}

// text returns the value of an argument. given is false if the argument is
// null, so that the environment applies.
func (r *reader) text(v types.String) (value string, given bool) {
	if v.IsUnknown() {
		r.unknown = true
	}
	return v.ValueString(), !v.IsNull()
}

// either is [reader.text], with the environment variable as the default.
func (r *reader) either(v types.String, argument, variable string) (value, source string) {
	if value, given := r.text(v); given {
		return value, argument
	}
	return r.getenv(variable), variable
}

func (r *reader) duration(v types.String, argument, variable string, standard time.Duration) time.Duration {
	value, source := r.either(v, argument, variable)
	if v.IsUnknown() || value == "" && source == variable {
		return standard
	}
	d, err := time.ParseDuration(value)
	if err != nil || d <= 0 {
		r.fail(argumentPath(source), text.InvalidDuration(source, value))
		return standard
	}
	return d
}

func (r *reader) endpoints(v types.List, secure bool) []string {
	var out []string
	add := func(at path.Path, source, raw string) {
		if !strings.Contains(raw, "://") {
			r.bare = append(r.bare, connection.Quote(raw))
		}
		endpoint, err := connection.ParseEndpoint(raw, secure)
		if problem, ok := errors.AsType[*connection.EndpointError](err); ok {
			r.fail(at, text.InvalidEndpoint(source, problem))
		} else if !slices.Contains(out, endpoint) {
			out = append(out, endpoint)
		}
	}
	if list := r.getenv(envEndpoints); v.IsNull() && list != "" {
		for _, raw := range strings.Split(list, ",") {
			add(path.Empty(), envEndpoints, raw)
		}
	}
	r.each(v, "endpoints", func(at path.Path, raw string) { add(at, at.String(), raw) })
	return out
}

// each calls take with each known element of a list.
func (r *reader) each(v types.List, argument string, take func(at path.Path, value string)) {
	r.unknown = r.unknown || attribute.SomeUnknown(v)
	for i, e := range v.Elements() {
		if s, ok := e.(types.String); ok && !s.IsUnknown() {
			take(path.Root(argument).AtListIndex(i), s.ValueString())
		}
	}
}

func (r *reader) addressMap(v types.Map, secure bool) map[string]string {
	r.unknown = r.unknown || attribute.SomeUnknown(v)
	known := map[string]string{}
	for from, e := range v.Elements() {
		if to, ok := e.(types.String); ok && !to.IsUnknown() {
			known[from] = to.ValueString()
		}
	}
	parsed, err := connection.ParseAddressMap(known, secure)
	if problem, ok := errors.AsType[*connection.EndpointError](err); ok {
		r.fail(path.Root("address_map"), text.InvalidAddressMap("address_map", problem))
	}
	return parsed
}
