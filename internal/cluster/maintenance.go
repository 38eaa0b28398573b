// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"context"
	"io"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// long sends one member a request that may take up to limit. A learner does not
// accept logins, but accepts the token of a login at a voter.
func (c *Client) long(ctx context.Context, id membership.MemberID, limit time.Duration, f func(context.Context, *connection.Client) error) error {
	endpoint, err := c.addressOf(id)
	if err != nil {
		return err
	}
	for _, settings := range []connection.Settings{c.settings, c.settings.WithoutCredentials()} {
		var conn *connection.Client
		if conn, err = c.pool.Client(ctx, settings, endpoint); err == nil {
			err = conn.DoLong(ctx, limit, func(ctx context.Context) error { return f(ctx, conn) })
		}
		if connection.KindOf(err) != connection.Learner {
			break
		}
	}
	return translate(err)
}

// Snapshot implements [Cluster].
func (c *Client) Snapshot(ctx context.Context, of membership.MemberID, limit time.Duration, w io.Writer) error {
	return c.long(ctx, of, limit, func(ctx context.Context, conn *connection.Client) error {
		// The server sends until the reader of the stream is closed.
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		resp, err := conn.SnapshotWithVersion(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = resp.Snapshot.Close() }()
		_, err = io.Copy(w, resp.Snapshot)
		return err
	})
}

// Defragment implements [Cluster].
func (c *Client) Defragment(ctx context.Context, id membership.MemberID, limit time.Duration) error {
	return c.long(ctx, id, limit, func(ctx context.Context, conn *connection.Client) error {
		_, err := conn.Defragment(ctx, conn.Endpoint())
		return err
	})
}
