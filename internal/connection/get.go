// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package connection

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// maxBody is more than any answer that is asked for, in bytes.
const maxBody = 16 << 20

// Get reads a path of an endpoint over HTTP, such as /metrics, within the
// request timeout, and returns the body. It follows no redirect. Errors are of type [*Error] or
// [*EndpointError], or ctx's own.
func (s Settings) Get(ctx context.Context, endpoint, path string) ([]byte, error) {
	endpoint, err := ParseEndpoint(endpoint, s.TLS != nil)
	if err != nil {
		return nil, err
	}
	if err := s.allow(ctx, endpoint); err != nil {
		return nil, err
	}
	call, cancel := context.WithTimeout(ctx, s.requestTimeout())
	defer cancel()
	fail := func(err error) ([]byte, error) {
		if errors.Is(ctx.Err(), context.Canceled) {
			return nil, ctx.Err()
		}
		return nil, &Error{Endpoint: endpoint, Kind: kindOfAttempt(err), Err: err}
	}
	req, err := http.NewRequestWithContext(call, http.MethodGet, endpoint+path, nil)
	if err != nil {
		return nil, &EndpointError{Endpoint: endpoint, Reason: "is not a URL"}
	}
	resp, err := transport{settings: s}.RoundTrip(req)
	if err != nil {
		return fail(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	switch {
	case err != nil:
		return fail(err)
	case resp.StatusCode != http.StatusOK:
		return nil, &Error{Endpoint: endpoint, Kind: NotEtcd, Err: fmt.Errorf("GET %s: HTTP status %s", path, resp.Status)}
	}
	return body, nil
}
