// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"cmp"
	"errors"
	"strings"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// PeerURL returns the error for an invalid peer URL.
func PeerURL(err *membership.URLError) Message { return Message{"Invalid peer URL", urlDetail(err)} }

// URLIn returns the error for an invalid URL in an argument. at is the argument
// or its element.
func URLIn(at string, err error) Message {
	argument, _, _ := strings.Cut(at, "[")
	return New("Invalid URL in "+argument, "%s: %s", argument, Verbatim(urlDetail(err)))
}

// urlProblems are formats of a URL and the port of an example, which describe what is wrong
// with it.
var urlProblems = map[membership.URLProblem]string{
	membership.URLEmpty:      "The URL is empty." + wantURL,
	membership.URLNoScheme:   "%[1]s has no scheme." + wantURL,
	membership.URLScheme:     "%[1]s is neither http nor https." + wantURL,
	membership.URLUserinfo:   "%[1]s holds a user name or password. Leave it out.",
	membership.URLNoHost:     "%[1]s has no host." + wantURL,
	membership.URLHost:       "%[1]s names neither an IP address nor a host name (letters, digits, dots, hyphens; no address zone)." + wantURL,
	membership.URLWildcard:   "%[1]s is an address to listen on; no other machine can dial it. Give the URL at which others reach this member.",
	membership.URLNoPort:     "%[1]s has no port, and etcd assumes none." + wantURL,
	membership.URLPort:       "%[1]s has a port outside of 1 to 65535." + wantURL,
	membership.URLPath:       "%[1]s has a path; etcd accepts none here." + wantURL,
	membership.URLQuery:      "%[1]s has a query or a fragment; etcd accepts none here." + wantURL,
	membership.URLSeveral:    "%[1]q is not one URL. Give each URL as a list element of its own.",
	membership.URLUnreadable: "%[1]q cannot be read as a URL." + wantURL,

	connection.URLOfOne:       "%[1]s has the host of one member, and it is the URL of all. Expected 0.0.0.0 as the host, such as http://0.0.0.0:2381.",
	connection.URLOtherScheme: "%[1]s has another scheme than the advertised URL that it stands for.",
	connection.URLTwice:       "%[1]s is mapped twice, to different addresses.",
}

const wantURL = " Expected a scheme, a host and a port, such as https://10.0.0.1:%[2]d."

// urlDetail describes a [*membership.URLError].
func urlDetail(err error) string {
	bad, ok := errors.AsType[*membership.URLError](err)
	if !ok {
		return sentence(err) + "."
	}
	port := membership.PeerPort
	if bad.Client {
		port = membership.ClientPort
	}
	return filled(cmp.Or(urlProblems[bad.Problem], urlProblems[membership.URLUnreadable]), bad.URL, port)
}

// MemberName returns the error for an invalid member name.
func MemberName(err *membership.NameError) Message {
	return Message{"Invalid member name", memberNameDetail(err)}
}

// nameProblems are formats of a name and its length.
var nameProblems = map[membership.NameProblem]string{
	membership.NameEmpty:     "The member name is empty. A member needs a name that no other member of its cluster bears.",
	membership.NameSeparator: "The member name %[1]q contains '=' or ',', which separate the entries of an initial cluster. Choose another name.",
	membership.NameLong:      "The member name has %[2]d bytes; at most 253 are taken. Choose a shorter name.",
	membership.NameAlphabet: "The member name %[1]q contains a character other than letters (a to z, A to Z), digits and . _ : @ %% + ~ -. " +
		"The join script and the data directory take no other. Choose another name.",
	membership.NameCharacter: "The member name %[1]q contains white space or a character that cannot be printed. Choose another name.",
}

func memberNameDetail(err *membership.NameError) string {
	return filled(cmp.Or(nameProblems[err.Problem], nameProblems[membership.NameCharacter]), err.Name, len(err.Name))
}

// InitialCluster returns the error for an error of [membership.ParseInitialCluster].
func InitialCluster(err *membership.EntryError) Message {
	detail := "Expected name=url, such as infra1=https://10.0.0.1:2380."
	var badURL *membership.URLError
	var badName *membership.NameError
	switch {
	case errors.Is(err, membership.ErrNoEntries):
		return New("Invalid initial cluster", "The initial cluster is empty. Expected name=url entries with commas between them.")
	case errors.Is(err, membership.ErrDuplicateURL):
		detail = "Its peer URL is in the list twice; each belongs to one member."
	case errors.As(err, &badURL):
		if shown, ok := membership.Shown(err.Entry); !ok || shown != err.Entry { // what is hidden may be in the URL
			badURL = &membership.URLError{URL: "The URL", Problem: badURL.Problem}
		}
		detail = urlDetail(badURL)
	case errors.As(err, &badName):
		detail = memberNameDetail(badName)
	}
	return New("Invalid initial cluster", "Entry %q: %s", err.Entry, Verbatim(detail))
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

// TLSMaterial returns the error for an invalid CA, client certificate or key. source is the
// origin of err.Argument: an argument of the provider block, or an environment variable.
func TLSMaterial(source string, err *connection.TLSError) Message {
	if path, ok := membership.Shown(err.Path); ok && path != "" {
		source = sprintf("%s (%s)", source, path)
	}
	t := tlsProblems[err.Problem]
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
