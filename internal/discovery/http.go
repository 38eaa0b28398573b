// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discovery

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
)

// httpTransport reaches what settings describe by plain HTTP: same TLS, same
// address map, same limits. It keeps no connection open, so that nothing is
// sent twice behind the caller's back: net/http repeats a request that fails
// on a connection that was open before.
func httpTransport(settings connection.Settings) *http.Transport {
	dialer := &net.Dialer{Timeout: settings.DialTimeout}
	mapped := map[string]string{}
	for from, to := range settings.AddressMap {
		mapped[hostOf(from)] = hostOf(to)
	}
	return &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   settings.TLS.Clone(),
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if to, ok := mapped[address]; ok {
				address = to
			}
			return dialer.DialContext(ctx, network, address)
		},
	}
}

// hostOf returns host and port of a normalised URL.
func hostOf(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return endpoint
	}
	return u.Host
}

// requestTimeout is how long one request may take.
func requestTimeout(settings connection.Settings) time.Duration {
	if settings.RequestTimeout > 0 {
		return settings.RequestTimeout
	}
	return connection.DefaultRequestTimeout
}

// isOurs tells errors that this package made from those of the network.
func isOurs(err error) bool {
	for _, kind := range []error{ErrNotFound, ErrExists, ErrBadSize, ErrDenied, ErrNoV2} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}
