// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

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

// NotVerified returns the warning that server certificates are not verified. source
// is the argument or the environment variable that disables the verification.
var NotVerified = of1[string]("Server certificates are not verified",
	"%s is true. Any host between this machine and the cluster can read the password and control the cluster.\n\n"+
		"Unset it, or set insecure_skip_tls_verify = false in the provider block, and set ca_cert to the CA that signed the servers' certificates.")

// PasswordInTheClear returns the warning for sending the password without TLS.
var PasswordInTheClear = of1[[]string]("The password is sent in clear text",
	"A password is configured, and these endpoints are http: %s. Any host between this machine and the cluster can read the password.\n\n"+
		"Serve clients with TLS, and use https endpoints. A tunnel to this machine (address_map to 127.0.0.1) is not reported.")

// NoScheme returns the warning for endpoints configured without a scheme.
var NoScheme = of2[[]string, string]("Endpoints without a scheme",
	"These endpoints have no scheme: %s. They are dialled with %s: https if a TLS argument is set, otherwise http. Write the scheme, so that a change of other arguments does not change it.")

// PlainService returns the warning for a discovery service over http.
var PlainService = of1[string]("The discovery service is asked over http",
	"service_url is %q. Any host between this machine and the service can replace the discovery URL that the service returns, "+
		"and so name the members of the new cluster. Use an https URL.")
