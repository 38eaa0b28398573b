// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package connection

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"net/url"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// open makes every connection of the provider
// (TestOneFunctionMakesAllConnections). If limit is 0, only ctx limits it.
func open(ctx context.Context, limit time.Duration, address string) (net.Conn, error) {
	return (&net.Dialer{Timeout: limit}).DialContext(ctx, "tcp", address)
}

// wire is a destination: a scheme, and the host and port that are dialled.
type wire struct{ scheme, address string }

// wire returns what is dialled for a normalised endpoint, by its own scheme.
func (s Settings) wire(endpoint string) wire {
	return wire{wireOf(endpoint).scheme, wireOf(cmp.Or(s.AddressMap[endpoint], endpoint)).address}
}

// wireOf returns what a normalised endpoint names, nothing for another text.
func wireOf(endpoint string) wire {
	u, err := url.Parse(endpoint)
	if err != nil {
		return wire{}
	}
	return wire{u.Scheme, u.Host}
}

// The kinds that [wire.record] records.
const (
	sentNothing     = "none"
	sentPassword    = "password"
	sentToken       = "token"
	sentCertificate = "certificate"
)

// World takes the place of the network in tests; see [Pool]. It does not
// simulate logins: settings with a user name need the real network.
type World interface {
	// Client returns etcd's own client of the server at an address, which is a
	// scheme, a host and a port. The end of an attempt to connect is an [*Error]
	// of endpoint. The answers are those after clientv3's retries.
	Client(endpoint, address string) *clientv3.Client
	// Web returns the transport of HTTP requests to the server at an address.
	Web(address string) http.RoundTripper
}

// url returns the address that is dialled with its scheme.
func (w wire) url() string { return w.scheme + "://" + w.address }
