// Package connection knows how to reach etcd servers: where they are, what
// TLS and credentials to use, how long to wait. It opens nothing by itself;
// packages cluster, discovery and claim dial with it, at first use.
package connection

import (
	"crypto/tls"
	"time"
)

// Secret is a text that must not be printed. Every way of formatting it
// yields "***"; only [Secret.Reveal] gives the text away.
type Secret string

// String implements fmt.Stringer.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "***"
}

// GoString implements fmt.GoStringer.
func (s Secret) GoString() string { return s.String() }

// Reveal returns the secret itself, for the one call that needs it.
func (s Secret) Reveal() string { return string(s) }

// Settings says how to reach the servers of one cluster.
type Settings struct {
	// Endpoints are client URLs, normalised: scheme, host and port.
	Endpoints []string
	// Username and Password are for etcd's own authentication; both empty
	// without it.
	Username string
	Password Secret
	// TLS is nil for plain HTTP endpoints. It holds the CA, the client
	// certificate, and nothing about server names: those follow the URL.
	TLS *tls.Config
	// AddressMap maps an advertised client URL (normalised) to the URL that
	// can be dialled from here. TLS is still verified against the host of the
	// advertised URL.
	AddressMap map[string]string
	// DialTimeout limits the making of one connection, RequestTimeout one
	// request to one endpoint.
	DialTimeout    time.Duration
	RequestTimeout time.Duration
	// MetadataPrefix is where ownership records and locks are kept; it begins
	// and ends with a slash.
	MetadataPrefix string
}

// Defaults of [Settings].
const (
	DefaultDialTimeout    = 2 * time.Second
	DefaultRequestTimeout = 5 * time.Second
	DefaultMetadataPrefix = "/_terraform/etcd/"
)
