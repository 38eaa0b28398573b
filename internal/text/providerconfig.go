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
	return New("Invalid endpoint",
		"%s: %q %s. Expected a scheme, a host and a port, such as https://10.0.1.10:2379.", source, err.Endpoint, err.Reason)
}

// InvalidAddressMap returns the error for an invalid pair of address_map.
func InvalidAddressMap(source string, err *connection.EndpointError) Message {
	return New("Invalid address map",
		"%s: %q %s. Each pair leads an advertised client URL to the URL that can be dialled from here, such as "+
			"\"https://10.0.1.10:2379\" = \"https://bastion.example.com:12379\".",
		source, err.Endpoint, err.Reason)
}

// InvalidBool returns the error for an environment variable that is not true or false.
var InvalidBool = of3[string, string, string]("Invalid environment variable",
	"%s is %q. Expected true or false. To override it, set %s in the provider block.")

// PasswordMissing returns the error for a user name without a password: etcd's
// client would silently ignore both.
var PasswordMissing = of2[string, string]("User name without password",
	"%s names the user %q, and there is no password. Set password in the provider block, or the environment variable "+
		"ETCDCTL_PASSWORD; to authenticate with a client certificate alone, leave the user name out.")

// UsernameMissing returns the error for a password without a user name.
var UsernameMissing = of1[string]("Password without user name",
	"%s is set, and there is no user name. Set username in the provider block, or the environment variable ETCDCTL_USER; "+
		"membership needs a user with the root role.")

// TwoPasswords is the error for an environment with two passwords.
var TwoPasswords = New("Two passwords in the environment",
	"ETCDCTL_USER holds a password after its colon, and ETCDCTL_PASSWORD is set as well. Leave one of them out; "+
		"or set username and password in the provider block, which win.")

// TLSMaterial returns the error for an invalid CA, client certificate or key.
// source is the origin of err.Argument.
func TLSMaterial(source string, err *connection.TLSError) Message {
	source = sprintf("%s", source)
	if path, ok := membership.Shown(err.Path); ok && path != "" {
		source += sprintf(" (%s)", path)
	}
	switch err.Problem {
	case connection.CertWithoutKey:
		return Message{"Client certificate without its key", source + " is set, and its private key is not. Set key as well, next to the certificate."}
	case connection.KeyWithoutCert:
		return Message{"Private key without its certificate", source + " is set, and the client certificate is not. Set cert as well, next to the key."}
	case connection.Unreadable:
		return New("Cannot read TLS file", "%s: %v. Expected the path of a file that exists at plan, or PEM text, which begins with -----BEGIN. "+
			"For a certificate that is created in the same apply, give its PEM text.", source, err.Err)
	case connection.EncryptedKey:
		return Message{"Encrypted private key", source + " is protected by a pass phrase, which the provider cannot ask for. Decrypt it (openssl pkey -in FILE -out FILE)."}
	case connection.KeyMismatch:
		return Message{"Private key of another certificate", source + " is not the key of the client certificate. Give the certificate and the key that were made together."}
	case connection.CertExpired:
		return New("Client certificate expired", "%s expired on %s; no server accepts it. Issue a new one.", source, err.When.UTC().Format(time.RFC1123))
	case connection.CertNotYetValid:
		return New("Client certificate not valid yet", "%s becomes valid on %s. Check the clock of this machine and the certificate's dates.",
			source, err.When.UTC().Format(time.RFC1123))
	default: // NoPEM
		return Message{"Invalid TLS material", source + " holds no usable PEM block. Expected text that begins with -----BEGIN and, for key, is a private key, otherwise a certificate."}
	}
}
