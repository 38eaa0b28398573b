// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// When all machines of a cluster are gone, one apply restores it from a snapshot.
func TestAccRestoreInPlace(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{})
	f.Form()
	lost := fmt.Sprint(f.State(cluster)["cluster_id"])
	client, ctx := f.Client("a"), etcdtest.WaitContext(t)
	if _, err := client.Put(ctx, "kept", "before"); err != nil {
		t.Fatal(err)
	}
	file, sum := backup(ctx, t, client)
	f.Lose("a", "b", "c")
	f.Write("restore_override.tf", fmt.Sprintf(
		"resource \"etcd_cluster\" \"this\" {\n  restore = {\n    snapshot = %q\n    sha256 = %q\n    replaces_cluster = %q\n    gone = [\"a\", \"b\", \"c\"]\n  }\n}\n", file, sum, lost))
	f.Form()
	if id := fmt.Sprint(f.State(cluster)["cluster_id"]); id == lost {
		t.Errorf("the cluster is still %s", id)
	}
	f.Settled()
	got, err := f.Client("a").Get(ctx, "kept")
	if err != nil || len(got.Kvs) != 1 || string(got.Kvs[0].Value) != "before" {
		t.Errorf("kept is %v, %v", got, err)
	}
}

// backup saves a snapshot, and returns its path and its SHA-256.
func backup(ctx context.Context, t *testing.T, client *clientv3.Client) (path, sum string) {
	t.Helper()
	stream, err := client.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(stream)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "snapshot.db")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, strings.ToLower(fmt.Sprintf("%x", sha256.Sum256(text)))
}
