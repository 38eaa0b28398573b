// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package connection knows how to reach etcd servers: where they are, what
// TLS and credentials to use, how long to wait. It opens nothing by itself;
// packages cluster, discovery and claim dial with it, at first use.
//
// One [Client] speaks to exactly one endpoint. clientv3 makes every call wait
// until a connection is ready, so that a refused connection or a certificate
// that does not verify shows up as an exceeded deadline, without its cause, and
// a dead endpoint eats the deadline of a live one. [Client.Do] ends a call as
// soon as an attempt to connect has failed, and says why it failed.
package connection

import (
	"cmp"
	"crypto/tls"
	"time"
)

// Settings says how to reach the servers of one cluster.
type Settings struct {
	// Endpoints are client URLs, normalised: scheme, host and port. See
	// [ParseEndpoint].
	Endpoints []string
	// Username and Password are for etcd's own authentication; both empty
	// without it.
	Username string
	Password Secret
	// TLS is nil where no TLS material is configured. It holds the CA, the
	// client certificate, and nothing about server names: those follow the URL.
	TLS *tls.Config
	// TrustedHosts may get the credentials, beside the hosts of Endpoints, Named
	// and AddressMap; see [Settings.Refusal].
	TrustedHosts []HostPattern
	// Named are URLs that arguments name, beside Endpoints. See [Settings.At].
	Named []string
	// Learned says that Endpoints are known only from what members advertised.
	// See [Settings.Where].
	Learned bool
	// AddressMap maps an advertised client URL (normalised) to the URL that
	// can be dialled from here. TLS is still verified against the host of the
	// advertised URL.
	AddressMap map[string]string
	// DialTimeout limits the making of one connection, RequestTimeout one
	// request to one endpoint. 0 means the default.
	DialTimeout    time.Duration
	RequestTimeout time.Duration
	// MetadataPrefix is where ownership records and locks are kept; it begins
	// and ends with a slash.
	MetadataPrefix string

	// anonymous is set by [Settings.WithoutCredentials], token by a [Pool]: it is
	// the one that such a client borrows.
	anonymous bool
	token     *sharedToken
}

// Defaults of [Settings].
const (
	DefaultDialTimeout    = 2 * time.Second
	DefaultRequestTimeout = 5 * time.Second
	DefaultMetadataPrefix = "/_terraform/etcd/"
)

func (s Settings) dialTimeout() time.Duration {
	return cmp.Or(max(s.DialTimeout, 0), DefaultDialTimeout)
}

// RequestLimit is how long one request to one endpoint may take.
func (s Settings) RequestLimit() time.Duration {
	return cmp.Or(max(s.RequestTimeout, 0), DefaultRequestTimeout)
}
