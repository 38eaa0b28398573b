// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package connection

import (
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

// target returns the host and port to dial for a normalised endpoint.
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

// wire is a destination: a scheme, and the host and port that are dialled.
type wire struct{ scheme, address string }

// The kinds that [wire.record] records.
const (
	sentNothing     = "none"
	sentPassword    = "password"
	sentToken       = "token"
	sentCertificate = "certificate"
)
