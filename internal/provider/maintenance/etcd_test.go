// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package maintenance_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.uber.org/goleak"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/must"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The actions and the lists are tested in package simulated. This test holds them to real
// servers of each version: a full database is smaller after its defragmentation, and takes
// writes again after a disarm. It needs the role root; the list of members needs no role.
func TestDefragmentWhenFull(t *testing.T) {
	t.Parallel()
	for _, v := range etcdtest.Versions() {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			b := etcdtest.Start(t, 1, etcdtest.Options{Version: v, Env: map[string]string{"ETCD_QUOTA_BACKEND_BYTES": "4194304"}, Password: "Tr0ub4dor"})
			for _, command := range [][]string{
				{"role", "add", "app"}, {"role", "grant-permission", "app", "--prefix=true", "readwrite", ""},
				{"user", "add", "app:pw"}, {"user", "grant-role", "app", "app"}, {"user", "add", "viewer:pw"},
			} {
				if _, err := b.Etcdctl(command...); err != nil {
					t.Fatal(err)
				}
			}
			pool, ctx := &connection.Pool{}, etcdtest.WaitContext(t)
			defer pool.Close()
			as := func(user string, password connection.Secret) *cluster.Client {
				return cluster.New(connection.Settings{Endpoints: b.Endpoints(), Username: user, Password: password}, pool)
			}
			if members, _, err := as("viewer", "pw").Members(ctx); err != nil || len(members) != 1 {
				t.Errorf("a user without a role lists %v, %v", members, err)
			}
			app, root := as("app", "pw"), as("root", "Tr0ub4dor")
			snap, err := root.Observe(ctx, 0)
			must.Succeed(t, err)
			m, client := snap.Members[0], b.Client(t)
			if _, err := app.Observe(ctx, 0); err != nil {
				t.Error(err)
			}
			if err := app.Defragment(ctx, m.ID, time.Minute); !connection.IsDenied(err) {
				t.Errorf("a user with a role for all keys: %v", err)
			}
			var revision int64
			for err == nil {
				put, putErr := client.Put(ctx, "key", strings.Repeat("x", 32<<10))
				if err = putErr; err == nil {
					revision = put.Header.Revision
				}
			}
			if !errors.Is(err, rpctypes.ErrNoSpace) {
				t.Fatalf("the database never filled: %v", err)
			}
			if _, err := client.Compact(ctx, revision); err != nil {
				t.Fatal(err)
			}
			before := root.Member(ctx, m, snap.ClusterID).DBSize
			must.Succeed(t, root.Defragment(ctx, m.ID, time.Minute))
			if after := root.Member(ctx, m, snap.ClusterID).DBSize; after == 0 || after > before/2 {
				t.Errorf("%d bytes, after %d", after, before)
			}
			if _, err := b.Etcdctl("alarm", "disarm"); err != nil {
				t.Fatal(err)
			}
			if _, err := client.Put(ctx, "key", "y"); err != nil {
				t.Errorf("a write afterwards: %v", err)
			}
		})
	}
}
