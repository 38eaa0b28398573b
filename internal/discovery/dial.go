// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discovery

import (
	"context"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
)

// withKV calls do with the key space at one endpoint, within the request
// timeout.
func withKV(ctx context.Context, s connection.Settings, endpoint string, do func(context.Context, clientv3.KV) error) error {
	client, err := s.Client(ctx, endpoint)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	return client.Do(ctx, func(ctx context.Context) error { return do(ctx, client.KV) })
}
