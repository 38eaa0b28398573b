// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
)

// NotTrusted returns the warning about members that are not asked, because only the
// members name these URLs, which must not receive the credentials.
func NotTrusted(unnamed, plain []string) Message {
	var b strings.Builder
	b.WriteString("The provider does not ask members at the addresses below. If a member has no other address, a change that needs its answer is refused.")
	if len(unnamed) > 0 {
		b.WriteString("\n\nOnly the members themselves name these URLs. The provider sends credentials to what its configuration names. " +
			"If the URLs belong to the cluster, add them to endpoints, in the provider block or where a resource has its own:\n\n" +
			"  endpoints = [..., " + quoted(unnamed) + "]")
	}
	if len(plain) > 0 {
		b.WriteString(sprintf("\n\nThese URLs are http, and the endpoints are https: %s. Start the members with https URLs (ETCD_ADVERTISE_CLIENT_URLS).",
			strings.Join(plain, ", ")))
	}
	return Message{"Some addresses of members are not asked", b.String()}
}

// NotVerified returns the warning that server certificates are not verified. source
// is the argument or the environment variable that disables the verification.
func NotVerified(source string) Message {
	fix := "Remove it, and set ca_cert to the CA that signed the servers' certificates."
	if strings.HasPrefix(source, "ETCDCTL_") {
		fix = "Unset the variable, or set insecure_skip_tls_verify = false in the provider block, and set ca_cert to the CA that signed the servers' certificates."
	}
	return New("Server certificates are not verified",
		"%s is true. Any host between this machine and the cluster can read the password and control the cluster.\n\n%s", source, fix)
}

// PasswordInTheClear returns the warning for sending the password without TLS.
func PasswordInTheClear(endpoints []string) Message {
	return New("The password is sent in clear text",
		"A password is configured, and these endpoints are http: %s. Any host between this machine and the cluster can read the password.\n\n"+
			"Serve clients with TLS, and use https endpoints. A tunnel to this machine (address_map to 127.0.0.1) is not reported.",
		strings.Join(endpoints, ", "))
}

// NoScheme returns the warning for endpoints configured without a scheme.
func NoScheme(endpoints []string, scheme string) Message {
	why := "TLS arguments are set"
	if scheme == "http" {
		why = "no TLS argument is set"
	}
	return New("Endpoints without a scheme",
		"These endpoints have no scheme: %s. They are %s, because %s. Write the scheme, so that a change of other arguments does not change it.",
		strings.Join(endpoints, ", "), scheme, why)
}

// PlainService returns the warning for a discovery service over http.
func PlainService(url string) Message {
	return New("The discovery service is asked over http",
		"service_url is %s. Any host between this machine and the service can replace the discovery URL that the service returns, "+
			"and so name the members of the new cluster. Use an https URL.",
		connection.Quote(url))
}
