// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package connection

import (
	"context"
	"net"
	"net/url"
	"time"
)

// open makes every connection of the provider, and no other function does
// (TestOneFunctionMakesAllConnections). 0 is no limit but that of ctx.
func open(ctx context.Context, limit time.Duration, address string) (net.Conn, error) {
	return (&net.Dialer{Timeout: limit}).DialContext(ctx, "tcp", address)
}

// target returns host and port that are dialled for a normalised endpoint.
func (s Settings) target(endpoint string) (string, error) {
	if mapped, ok := s.AddressMap[endpoint]; ok {
		endpoint = mapped
	}
	u, err := url.Parse(endpoint)
	if err != nil {
		return "", &EndpointError{Endpoint: endpoint, Reason: "is not a URL"}
	}
	return u.Host, nil
}

// wire is where bytes go: a scheme, and the host and port that are dialled.
type wire struct{ scheme, address string }

// What [wire.record] is told of.
const (
	sentNothing     = "none"
	sentPassword    = "password"
	sentToken       = "token"
	sentCertificate = "certificate"
)
