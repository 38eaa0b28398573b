// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discovery

import (
	"context"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
)

// withKV calls do with the key space at one endpoint, within the request
// timeout, over a connection of the pool or, where that is nil, one of its own.
func withKV(ctx context.Context, pool *connection.Pool, s connection.Settings, endpoint string, do func(context.Context, clientv3.KV) error) error {
	dial := s.Client
	if pool != nil {
		dial = func(ctx context.Context, endpoint string, opts ...connection.Option) (*connection.Client, error) {
			return pool.Client(ctx, s, endpoint, opts...)
		}
	}
	client, err := dial(ctx, endpoint)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	return client.Do(ctx, func(ctx context.Context) error { return do(ctx, client.KV) })
}
