// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package connection describes how to reach etcd servers: their addresses, TLS,
// credentials and timeouts. It opens no connection by itself. Packages cluster,
// discovery and claim dial with it on first use.
//
// A [Client] talks to exactly one endpoint. clientv3 makes every call wait
// until a connection is ready. A refused connection or an invalid certificate
// therefore appears as an exceeded deadline without its cause, and a dead
// endpoint uses up the deadline of a live one. A request of a [Client] fails as soon
// as the attempt to connect fails. The client then connects once more by itself to
// find the reason: gRPC has it only as a text, and perhaps of an earlier attempt.
package connection

import (
	"cmp"
	"crypto/tls"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/clock"
)

// Settings says how to reach the servers of one cluster.
type Settings struct {
	// Endpoints are normalised client URLs: scheme, host and port. See
	// [ParseEndpoint].
	Endpoints []string
	// Username and Password are for etcd's own authentication. Both are empty
	// without it.
	Username string
	Password Secret
	// TLS holds the CA and the client certificate, or is nil without TLS
	// material. It holds no server names: those follow from the URL.
	TLS *tls.Config
	// Named are further URLs that arguments name. Only what Endpoints, Named,
	// AddressMap and [Naming] name receives the credentials. See [Settings.Refusal]
	// and [Settings.At].
	Named []string
	// Learned means that Endpoints are known only from what members advertise.
	// See [Settings.Where].
	Learned bool
	// AddressMap maps a normalised advertised client URL to the URL to dial.
	// TLS is still verified against the host of the advertised URL.
	AddressMap map[string]string
	// DialTimeout limits one attempt to connect, RequestTimeout one request to
	// one endpoint. 0 means the default.
	DialTimeout    time.Duration
	RequestTimeout time.Duration
	// Clock is the time of every wait. nil means the real time.
	Clock clock.Clock

	// anonymous is set by [Settings.WithoutCredentials]. token is the token
	// that such a client of a [Pool] borrows.
	anonymous bool
	token     *sharedToken
}

// Defaults of [Settings].
const (
	DefaultDialTimeout    = 2 * time.Second
	DefaultRequestTimeout = 5 * time.Second
)

func (s Settings) dialTimeout() time.Duration {
	return cmp.Or(max(s.DialTimeout, 0), DefaultDialTimeout)
}

// Time returns the clock.
func (s Settings) Time() clock.Clock { return clock.Or(s.Clock) }

// RequestLimit returns the timeout of one request to one endpoint.
func (s Settings) RequestLimit() time.Duration {
	return cmp.Or(max(s.RequestTimeout, 0), DefaultRequestTimeout)
}
