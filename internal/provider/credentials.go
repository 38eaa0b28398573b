// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// credentials returns the user name and the password, both or neither. As in
// etcdctl, ETCDCTL_USER may hold both, separated by a colon.
func (r *reader) credentials(m model) (string, connection.Secret) {
	user, password, both := strings.Cut(r.getenv(envUser), ":")
	if separate := r.getenv(envPassword); separate != "" {
		if both && m.Username.IsNull() && m.Password.IsNull() {
			r.fail(path.Empty(), text.TwoPasswords)
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

	switch {
	case m.Username.IsUnknown() || m.Password.IsUnknown():
		return "", ""
	case user != "" && password == "":
		r.fail(argumentPath(userSource), text.PasswordMissing(userSource, user))
		return "", ""
	case user == "" && password != "" && userSource == "username" && passwordSource == envPassword:
		// username = "" disables the environment's credentials.
		return "", ""
	case user == "" && password != "":
		r.fail(argumentPath(passwordSource), text.UsernameMissing(passwordSource))
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
		material.CACert = environment("ca_cert", envCACert)
	}
	if m.Cert.IsNull() && m.Key.IsNull() {
		material.Cert, material.Key = environment("cert", envCert), connection.Secret(environment("key", envKey))
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
			r.fail(path.Empty(), text.InvalidBool(envInsecure, value, skipVerify))
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
		r.fail(path.Empty(), text.InvalidClusterLost(value))
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

// tlsUnknown reports whether some of the TLS material is not known yet.
func (m model) tlsUnknown() bool {
	return m.CACert.IsUnknown() || m.Cert.IsUnknown() || m.Key.IsUnknown() || m.InsecureSkipTLSVerify.IsUnknown()
}

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
