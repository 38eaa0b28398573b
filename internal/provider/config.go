// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
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
		DialTimeout:    r.duration(m.DialTimeout, "dial_timeout", "ETCDCTL_DIAL_TIMEOUT", connection.DefaultDialTimeout),
		RequestTimeout: r.duration(m.RequestTimeout, "request_timeout", "ETCDCTL_COMMAND_TIMEOUT", connection.DefaultRequestTimeout),
	}
	s.Username, s.Password = r.credentials(m)
	material, sources := r.tlsMaterial(m)
	partly := m.CACert.IsUnknown() || m.Cert.IsUnknown() || m.Key.IsUnknown() || m.InsecureSkipTLSVerify.IsUnknown()
	// If not all is known, assume TLS, so that nothing is refused too early.
	secure := partly || material != connection.TLSMaterial{}
	if problem, ok := errors.AsType[*connection.TLSError](r.loadTLS(&s, material, partly)); ok {
		source := cmp.Or(sources[problem.Argument], problem.Argument)
		r.fail(argumentPath(source), text.TLSMaterial(source, problem))
	}
	s.Endpoints = r.endpoints(m.Endpoints, secure)
	s.AddressMap = r.addressMap(m.AddressMap, secure)
	s.Metrics = r.metricsURL(m.MetricsURL)
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
	r.unknown = r.unknown || v.IsUnknown()
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
		if err != nil {
			r.fail(at, text.URLIn(source, err))
		} else if !slices.Contains(out, endpoint) {
			out = append(out, endpoint)
		}
	}
	if list := r.getenv("ETCDCTL_ENDPOINTS"); v.IsNull() && list != "" {
		for _, raw := range strings.Split(list, ",") {
			add(path.Empty(), "ETCDCTL_ENDPOINTS", raw)
		}
	}
	r.unknown = r.unknown || attribute.SomeUnknown(v)
	for i, e := range v.Elements() {
		if s, ok := e.(types.String); ok && !s.IsUnknown() {
			at := path.Root("endpoints").AtListIndex(i)
			add(at, at.String(), s.ValueString())
		}
	}
	return out
}

func (r *reader) addressMap(v types.Map, secure bool) map[string]string {
	r.unknown = r.unknown || attribute.SomeUnknown(v)
	parsed, err := connection.ParseAddressMap(attribute.TextsByKey(v), secure)
	if err != nil {
		r.fail(path.Root("address_map"), text.URLIn("address_map", err))
	}
	return parsed
}

func (r *reader) metricsURL(v types.String) string {
	value, given := r.text(v)
	if !given || v.IsUnknown() {
		return ""
	}
	parsed, err := connection.ParseMetricsURL(value)
	if err != nil {
		r.fail(path.Root("metrics_url"), text.URLIn("metrics_url", err))
	}
	return parsed
}

// credentials returns the user name and the password, both or neither. As in
// etcdctl, ETCDCTL_USER may hold both, separated by a colon.
func (r *reader) credentials(m model) (string, connection.Secret) {
	user, password, both := strings.Cut(r.getenv(envUser), ":")
	if separate := r.getenv(envPassword); separate != "" {
		if both && m.Username.IsNull() && m.Password.IsNull() {
			r.fail(path.Empty(), text.New("Two passwords in the environment",
				"ETCDCTL_USER holds a password after its colon, and ETCDCTL_PASSWORD is set as well. Leave one of them out; or set username and password in the provider block, which win."))
			return "", ""
		}
		password = separate
	}

	userSource, passwordSource := envUser, envPassword
	if value, given := r.text(m.Username); given {
		if value != user {
			// The environment's password belongs to the environment's user,
			// unless the environment does not name a user.
			if user != "" {
				password = ""
			}
			user = value
		}
		userSource = "username"
	}
	if value, given := r.text(m.Password); given {
		password, passwordSource = value, "password"
	}

	// username = "" disables the environment's credentials.
	disabled := userSource == "username" && user == "" && passwordSource == envPassword
	switch {
	case disabled, m.Username.IsUnknown(), m.Password.IsUnknown():
		return "", ""
	case user != "" && password == "":
		r.fail(argumentPath(userSource), text.New("User name without password", // etcd's client would silently ignore both
			"%s names the user %q, and there is no password. Set password in the provider block, or the environment variable ETCDCTL_PASSWORD; "+
				"to authenticate with a client certificate alone, leave the user name out.", userSource, user))
		return "", ""
	case user == "" && password != "":
		r.fail(argumentPath(passwordSource), text.New("Password without user name",
			"%s is set, and there is no user name. Set username in the provider block, or the environment variable ETCDCTL_USER; membership needs a user with the root role.", passwordSource))
		return "", ""
	}
	return user, connection.Secret(password)
}

// tlsMaterial returns the TLS material. sources maps each argument that may
// come from the environment to its variable. A client certificate and its key
// come from the same place: both from the block or both from the environment.
func (r *reader) tlsMaterial(m model) (material connection.TLSMaterial, sources map[string]string) {
	sources = map[string]string{}
	block := func(v types.String) (value string) { value, _ = r.text(v); return value }
	material.CACert, material.Cert, material.Key = block(m.CACert), block(m.Cert), connection.Secret(block(m.Key))
	environment := func(argument, variable string) string {
		sources[argument] = variable
		return r.getenv(variable)
	}
	if m.CACert.IsNull() {
		material.CACert = environment("ca_cert", "ETCDCTL_CACERT")
	}
	if m.Cert.IsNull() && m.Key.IsNull() {
		material.Cert, material.Key = environment("cert", "ETCDCTL_CERT"), connection.Secret(environment("key", "ETCDCTL_KEY"))
	}

	switch value := r.getenv(envInsecure); {
	case m.InsecureSkipTLSVerify.IsUnknown():
		r.unknown = true
	case !m.InsecureSkipTLSVerify.IsNull():
		sources[skipVerify] = skipVerify
		material.InsecureSkipVerify = m.InsecureSkipTLSVerify.ValueBool()
	case value != "":
		sources[skipVerify] = envInsecure
		var err error
		if material.InsecureSkipVerify, err = strconv.ParseBool(value); err != nil {
			r.fail(path.Empty(), text.New("Invalid environment variable", "%s is %q. Expected true or false. To override it, set %s in the provider block.", envInsecure, value, skipVerify))
		}
	}
	return material, sources
}

// clusterLost returns the voters that the environment of this run states are gone for
// good, as "<cluster ID>:<name>,<name>". It is no argument, because it must not outlive
// the run.
func (r *reader) clusterLost() reconfigure.Statement {
	value := r.getenv(envClusterLost)
	if value == "" {
		return reconfigure.Statement{}
	}
	cluster, names, _ := strings.Cut(value, ":")
	id, err := membership.ParseClusterID(cluster)
	gone := strings.Split(names, ",")
	if err != nil || slices.Contains(gone, "") {
		r.fail(path.Empty(), text.New("Invalid "+envClusterLost,
			"%s is %q. Expected the ID of the lost cluster and its members that are gone for good, such as 3f1c2ab45d6e7f80:b,c. "+
				"The error that asks for it contains the line to paste. Otherwise, unset it.", envClusterLost, value))
		return reconfigure.Statement{}
	}
	return reconfigure.Statement{Cluster: id, Gone: gone}
}

// urlsInUse returns the changes of peer URLs that the environment of this run states to be
// in use, as "<member ID>:<change>,…": those whose proof the metrics do not give. It names
// the change, so that it confirms no later one.
func (r *reader) urlsInUse() []string {
	value := r.getenv(envURLsInUse)
	if value == "" {
		return nil
	}
	out := strings.Split(value, ",")
	for _, s := range out {
		id, change, _ := strings.Cut(s, ":")
		_, bad := membership.ParseMemberID(id)
		if _, err := strconv.ParseInt(change, 10, 64); err != nil || bad != nil {
			r.fail(path.Empty(), text.New("Invalid "+envURLsInUse, "%s is %q. Expected the ID of a member and the number of its change of peer URLs, such as 8e9e05c52164694d:57. "+
				"The error that asks for it contains the value to paste. Otherwise, unset it.", envURLsInUse, value))
			return nil
		}
	}
	return out
}

// skipVerify is the argument that disables the verification of servers.
const skipVerify = "insecure_skip_tls_verify"

// warn records settings that are insecure but allowed.
func (r *reader) warn(s connection.Settings, material connection.TLSMaterial, sources map[string]string, secure bool) {
	if material.InsecureSkipVerify {
		r.warnings = append(r.warnings, text.New("Server certificates are not verified",
			"%s is true. Any host between this machine and the cluster can read the password and control the cluster.\n\n"+
				"Unset it, or set insecure_skip_tls_verify = false in the provider block, and set ca_cert to the CA that signed the servers' certificates.", sources[skipVerify]))
	}
	if plain := s.InTheClear(); len(plain) > 0 {
		r.warnings = append(r.warnings, text.PasswordInTheClear(plain))
	}
	if (s.Username != "" || secure) && len(r.bare) > 0 {
		scheme := "http"
		if secure {
			scheme = "https"
		}
		r.warnings = append(r.warnings, text.New("Endpoints without a scheme",
			"These endpoints have no scheme: %s. They are dialled with %s: https if a TLS argument is set, otherwise http. Write the scheme, so that a change of other arguments does not change it.",
			r.bare, scheme))
	}
}
