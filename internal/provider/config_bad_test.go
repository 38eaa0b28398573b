// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"crypto/x509"
	"path/filepath"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

func TestBadSettings(t *testing.T) {
	pki := etcdtest.NewPKI(t)
	cert, other, expired := pki.Client("root"), pki.Client("other"), pki.ExpiredClient("root")
	missing := filepath.Join(t.TempDir(), "ca.pem")
	const inline = "-----BEGIN NOTHING-----\n-----END NOTHING-----\n"
	for name, c := range map[string]struct {
		block         block
		environment   map[string]string
		summary, text string
		at            string
	}{
		"scheme": {
			block{"endpoints": []string{"https://a", "ftp://b"}}, nil, "Invalid endpoint",
			`endpoints[1]: "ftp://b" has the scheme "ftp"; etcd clients speak http or https. Expected a scheme, a host and a port, such as https://10.0.1.10:2379.`,
			"endpoints[1]",
		},
		"empty endpoint": {
			block{"endpoints": []string{""}}, nil, "Invalid endpoint",
			`endpoints[0]: "" is empty. Expected a scheme, a host and a port, such as https://10.0.1.10:2379.`, "endpoints[0]",
		},
		"endpoint of the environment": {
			nil, map[string]string{"ETCDCTL_ENDPOINTS": "https://a:1,https://b/c"}, "Invalid endpoint",
			`ETCDCTL_ENDPOINTS: "https://b/c" has the path "/c"; it must end after the port. Expected a scheme, a host and a port, such as https://10.0.1.10:2379.`, "",
		},
		"password in an endpoint": {
			block{"endpoints": []string{"https://root:swordfish@a"}}, nil, "Invalid endpoint",
			`endpoints[0]: "https://***@a" contains user information; use username and password instead. Expected a scheme, a host and a port, such as https://10.0.1.10:2379.`,
			"endpoints[0]",
		},
		"address map": {
			block{"address_map": map[string]string{"https://a": "http://b"}}, nil, "Invalid address map",
			`address_map: "http://b" has another scheme than the advertised URL it stands for (https://a:2379). Each pair leads an advertised client URL to the URL that can be dialled from here, such as "https://10.0.1.10:2379" = "https://bastion.example.com:12379".`,
			"address_map",
		},
		"duration": {
			block{"dial_timeout": "2 seconds"}, nil, "Invalid duration",
			`dial_timeout is "2 seconds", which is not a duration of more than zero. Expected a number with a unit, such as 500ms, 90s, 5m or 1h30m.`, "dial_timeout",
		},
		"empty duration": {
			block{"request_timeout": ""}, nil, "Invalid duration",
			`request_timeout is "", which is not a duration of more than zero. Expected a number with a unit, such as 500ms, 90s, 5m or 1h30m.`, "request_timeout",
		},
		"duration of the environment": {
			nil, map[string]string{"ETCDCTL_COMMAND_TIMEOUT": "5"}, "Invalid duration",
			`ETCDCTL_COMMAND_TIMEOUT is "5", which is not a duration of more than zero. Expected a number with a unit, such as 500ms, 90s, 5m or 1h30m.`, "",
		},
		"no time at all": {
			block{"request_timeout": "0s"}, nil, "Invalid duration",
			`request_timeout is "0s", which is not a duration of more than zero. Expected a number with a unit, such as 500ms, 90s, 5m or 1h30m.`, "request_timeout",
		},
		"user without password": {
			block{"username": "root"}, nil, "User name without password",
			`username names the user "root", and there is no password. Set password in the provider block, or the environment variable ETCDCTL_PASSWORD; to authenticate with a client certificate alone, leave the user name out.`,
			"username",
		},
		"another user's password": {
			block{"username": "root"}, map[string]string{"ETCDCTL_USER": "alice:swordfish"}, "User name without password",
			`username names the user "root", and there is no password. Set password in the provider block, or the environment variable ETCDCTL_PASSWORD; to authenticate with a client certificate alone, leave the user name out.`,
			"username",
		},
		"user of the environment without password": {
			nil, map[string]string{"ETCDCTL_USER": "root"}, "User name without password",
			`ETCDCTL_USER names the user "root", and there is no password. Set password in the provider block, or the environment variable ETCDCTL_PASSWORD; to authenticate with a client certificate alone, leave the user name out.`,
			"",
		},
		"password without user": {
			block{"password": "swordfish"}, nil, "Password without user name",
			"password is set, and there is no user name. Set username in the provider block, or the environment variable ETCDCTL_USER; membership needs a user with the root role.",
			"password",
		},
		"two passwords": {
			nil, map[string]string{"ETCDCTL_USER": "root:swordfish", "ETCDCTL_PASSWORD": "other"}, "Two passwords in the environment",
			"ETCDCTL_USER holds a password after its colon, and ETCDCTL_PASSWORD is set as well. Leave one of them out; or set username and password in the provider block, which win.",
			"",
		},
		"neither true nor false": {
			nil, map[string]string{"ETCDCTL_INSECURE_SKIP_TLS_VERIFY": "yes"}, "Invalid environment variable",
			`ETCDCTL_INSECURE_SKIP_TLS_VERIFY is "yes". Expected true or false. To override it, set insecure_skip_tls_verify in the provider block.`, "",
		},
		"certificate without key": {
			block{"cert": cert.CertFile}, map[string]string{"ETCDCTL_KEY": cert.KeyFile}, "Client certificate without its key",
			"cert (" + cert.CertFile + ") is set, and its private key is not. Set key as well, next to the certificate.", "cert",
		},
		"key without certificate": {
			block{"key": "x"}, nil, "Private key without its certificate",
			"key is set, and the client certificate is not. Set cert as well, next to the key.", "key",
		},
		"no file": {
			block{"ca_cert": missing}, nil, "Cannot read TLS file",
			"ca_cert (" + missing + "): no such file or directory. Expected the path of a file that exists at plan, or PEM text, which begins with -----BEGIN. For a certificate that is created in the same apply, give its PEM text.",
			"ca_cert",
		},
		"no file of the environment's": {
			nil, map[string]string{"ETCDCTL_CACERT": missing}, "Cannot read TLS file",
			"ETCDCTL_CACERT (" + missing + "): no such file or directory. Expected the path of a file that exists at plan, or PEM text, which begins with -----BEGIN. For a certificate that is created in the same apply, give its PEM text.",
			"",
		},
		"a key whose first dash is lost": {
			block{"cert": cert.CertFile, "key": inline[1:]}, nil, "Cannot read TLS file",
			"key: no such file or directory. Expected the path of a file that exists at plan, or PEM text, which begins with -----BEGIN. For a certificate that is created in the same apply, give its PEM text.",
			"key",
		},
		"a key without its PEM header": {
			nil, map[string]string{"ETCDCTL_CERT": cert.CertFile, "ETCDCTL_KEY": "MC4CAQAwBQYDK2VwBCIEIB"}, "Cannot read TLS file",
			"ETCDCTL_KEY: no such file or directory. Expected the path of a file that exists at plan, or PEM text, which begins with -----BEGIN. For a certificate that is created in the same apply, give its PEM text.",
			"",
		},
		"a key without its certificate": {
			block{"key": inline}, nil, "Private key without its certificate",
			"key is set, and the client certificate is not. Set cert as well, next to the key.", "key",
		},
		"a bundle without its key": {
			block{"cert": inline}, nil, "Client certificate without its key",
			"cert is set, and its private key is not. Set key as well, next to the certificate.", "cert",
		},
		"no CA": {
			block{"ca_cert": inline}, nil, "Invalid TLS material",
			"ca_cert holds no usable PEM block. Expected text that begins with -----BEGIN and, for key, is a private key, otherwise a certificate.", "ca_cert",
		},
		"no certificate": {
			block{"cert": cert.KeyFile, "key": cert.KeyFile}, nil, "Invalid TLS material",
			"cert (" + cert.KeyFile + ") holds no usable PEM block. Expected text that begins with -----BEGIN and, for key, is a private key, otherwise a certificate.", "cert",
		},
		"no key": {
			block{"cert": cert.CertFile, "key": cert.CertFile}, nil, "Invalid TLS material",
			"key holds no usable PEM block. Expected text that begins with -----BEGIN and, for key, is a private key, otherwise a certificate.", "key",
		},
		"another key": {
			block{"cert": cert.CertFile, "key": other.KeyFile}, nil, "Private key of another certificate",
			"key is not the key of the client certificate. Give the certificate and the key that were made together.", "key",
		},
		"encrypted key": {
			block{"cert": cert.CertFile, "key": "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMAA=\n-----END ENCRYPTED PRIVATE KEY-----\n"}, nil, "Encrypted private key",
			"key is protected by a pass phrase, which the provider cannot ask for. Decrypt it (openssl pkey -in FILE -out FILE).", "key",
		},
		"expired certificate": {
			block{"cert": expired.CertFile, "key": expired.KeyFile}, nil, "Client certificate expired",
			"cert (" + expired.CertFile + ") expired on " + expiry(t, pki, expired) + "; no server accepts it. Issue a new one.", "cert",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, r := read(t, c.block, c.environment)
			if len(r.diags) != 1 {
				t.Fatalf("want one diagnostic, got %v", r.diags)
			}
			d := r.diags[0]
			if d.Summary() != c.summary || d.Detail() != c.text {
				t.Errorf("got\n%s\n%s\nwant\n%s\n%s", d.Summary(), d.Detail(), c.summary, c.text)
			}
			at := ""
			if located, ok := d.(diag.DiagnosticWithPath); ok {
				at = located.Path().String()
			}
			if at != c.at {
				t.Errorf("at %q, want %q", at, c.at)
			}
		})
	}
}

// expiry returns the time at which a certificate expires, as text.
func expiry(t *testing.T, pki *etcdtest.PKI, cert etcdtest.Cert) string {
	t.Helper()
	leaf, err := x509.ParseCertificate(pki.ClientConfig(cert).Certificates[0].Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	return leaf.NotAfter.UTC().Format("Mon, 02 Jan 2006 15:04:05 UTC")
}
