// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// In the functions below, source is the origin of a value: an argument of the
// provider block, such as endpoints[0], or an environment variable.

// InvalidEndpoint returns the error for an invalid client URL.
func InvalidEndpoint(source string, err *connection.EndpointError) Message {
	return New("Invalid endpoint", "%s: %q %s. Expected a scheme, a host and a port, such as https://10.0.1.10:2379.", source, err.Endpoint, err.Reason)
}

// tlsProblems are formats of the source of a value, the original error, and the date on
// which a certificate becomes valid or expires.
var tlsProblems = map[connection.TLSProblem]Message{
	connection.CertWithoutKey: {"Client certificate without its key", "%[1]s is set, and its private key is not. Set key as well, next to the certificate."},
	connection.KeyWithoutCert: {"Private key without its certificate", "%[1]s is set, and the client certificate is not. Set cert as well, next to the key."},
	connection.Unreadable: {"Cannot read TLS file", "%[1]s: %[2]v. Expected the path of a file that exists at plan, or PEM text, which begins with -----BEGIN. " +
		"For a certificate that is created in the same apply, give its PEM text."},
	connection.NoPEM:           {"Invalid TLS material", "%[1]s holds no usable PEM block. Expected text that begins with -----BEGIN and, for key, is a private key, otherwise a certificate."},
	connection.EncryptedKey:    {"Encrypted private key", "%[1]s is protected by a pass phrase, which the provider cannot ask for. Decrypt it (openssl pkey -in FILE -out FILE)."},
	connection.KeyMismatch:     {"Private key of another certificate", "%[1]s is not the key of the client certificate. Give the certificate and the key that were made together."},
	connection.CertExpired:     {"Client certificate expired", "%[1]s expired on %[3]s; no server accepts it. Issue a new one."},
	connection.CertNotYetValid: {"Client certificate not valid yet", "%[1]s becomes valid on %[3]s. Check the clock of this machine and the certificate's dates."},
}

// TLSMaterial returns the error for an invalid CA, client certificate or key.
// source is the origin of err.Argument.
func TLSMaterial(source string, err *connection.TLSError) Message {
	if path, ok := membership.Shown(err.Path); ok && path != "" {
		source = sprintf("%s (%s)", source, path)
	}
	t, ok := tlsProblems[err.Problem]
	if !ok {
		t = tlsProblems[connection.NoPEM]
	}
	return Message{t.Summary, filled(t.Detail, source, err.Err, err.When.UTC().Format(time.RFC1123))}
}

// NoEndpoints is the error if no endpoints are configured. There is no default:
// a plaintext localhost:2379 could be another cluster.
var NoEndpoints = New("No etcd endpoints",
	"Neither the provider block nor this block says where the cluster is. Set endpoints in the provider block, such as [\"https://10.0.1.10:2379\"], "+
		"or the environment variable ETCDCTL_ENDPOINTS.")

// InvalidDuration returns the error for a text that is not a positive duration.
func InvalidDuration(source, value string) Message {
	return New("Invalid duration", "%s is %q, which is not a duration of more than zero. Expected a number with a unit, such as 500ms, 90s, 5m or 1h30m.", source, value)
}

// NotTrusted returns the warning about members that are not asked, because only the
// members name these URLs, which must not receive the credentials.
func NotTrusted(unnamed, plain []string) Message {
	detail := "The provider does not ask members at the addresses below. If a member has no other address, a change that needs its answer is refused."
	if len(unnamed) > 0 {
		detail += "\n\nOnly the members themselves name these URLs. The provider sends credentials to what its configuration names. " +
			"If the URLs belong to the cluster, add them to endpoints, in the provider block or where a resource has its own:\n\n" +
			"  endpoints = [..., " + quoted(unnamed) + "]"
	}
	if len(plain) > 0 {
		detail += sprintf("\n\nThese URLs are http, and the endpoints are https: %s. Start the members with https URLs (ETCD_ADVERTISE_CLIENT_URLS).", plain)
	}
	return Message{"Some addresses of members are not asked", detail}
}

// PasswordInTheClear returns the warning for sending the password without TLS.
func PasswordInTheClear(plain []string) Message {
	return New("The password is sent in clear text",
		"A password is configured, and these endpoints are http: %s. Any host between this machine and the cluster can read the password.\n\n"+
			"Serve clients with TLS, and use https endpoints. A tunnel to this machine (address_map to 127.0.0.1) is not reported.", plain)
}
