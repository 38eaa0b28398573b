// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package connection

import (
	"cmp"
	"context"
	"net"
	"net/url"
	"time"
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
