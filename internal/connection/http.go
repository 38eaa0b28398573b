// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package connection

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"time"
)

// HTTPTransport reaches what the settings describe by plain HTTP, as the v2
// API needs it: same TLS, same address map, same limits. It keeps no connection
// open, so that nothing is sent twice behind the caller's back: net/http
// repeats a request that fails on a connection that was open before.
func (s Settings) HTTPTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: s.dialTimeout()}
	mapped := map[string]string{}
	for from, to := range s.AddressMap {
		mapped[hostOf(from)] = hostOf(to)
	}
	return &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   s.TLS.Clone(),
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if to, ok := mapped[address]; ok {
				address = to
			}
			return dialer.DialContext(ctx, network, address)
		},
	}
}

// RequestLimit is how long one request to one endpoint may take.
func (s Settings) RequestLimit() time.Duration { return s.requestTimeout() }

// hostOf returns host and port of a normalised URL.
func hostOf(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return endpoint
	}
	return u.Host
}
