// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// A user without permission to read keys sees the same of a cluster as root.
// The reason: a server confirms with the quorum first, and checks the
// permission after that. So a denied read was served, and a member without a
// quorum never answers that the permission is missing.
func TestPermissionIsDeniedAfterTheRead(t *testing.T) {
	onEach(t, etcdtest.Versions(), func(t *testing.T, v etcdtest.Version) {
		b := etcdtest.Start(t, 3, etcdtest.Options{Version: v, Password: "s3cret"})
		if out, err := b.Etcdctl("user", "add", "viewer:look"); err != nil {
			t.Fatal(out, err)
		}
		p := b.Members()[0]
		s := settings(b.Endpoints()...)
		s.Username, s.Password = "viewer", connection.Secret("look")
		c := clientFor(t, s)
		if snap := observe(t, c); !snap.Healthy() || !snap.Linearizable || snap.FailureTolerance() != 1 {
			t.Errorf("healthy %v, confirmed %v: %+v", snap.Healthy(), snap.Linearizable, snap.Answers)
		}

		client, err := clientv3.New(clientv3.Config{Endpoints: []string{p.ClientURL()}, Username: "viewer", Password: "look", DialTimeout: etcdtest.WaitLimit})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = client.Close() }()
		read := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			_, err := client.Get(ctx, "/_terraform/etcd/", clientv3.WithCountOnly())
			return err
		}
		etcdtest.Eventually(t, "with a quorum the permission is denied", func() error {
			if err := read(); !errors.Is(err, rpctypes.ErrPermissionDenied) {
				return fmt.Errorf("got %w", err)
			}
			return nil
		})
		for _, other := range b.Members()[1:] {
			other.Kill()
		}
		if err := read(); err == nil || errors.Is(err, rpctypes.ErrPermissionDenied) || errors.Is(err, rpctypes.ErrUserEmpty) {
			t.Errorf("without a quorum: %v, want no answer in time", err)
		}
	})
}
