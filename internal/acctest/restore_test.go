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

// A cluster that serves is not restored. When all its machines are gone, one apply
// restores it from a snapshot, with the voters stated that the error names.
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
	restore := func(gone string) { f.restore(file, sum, lost, gone) }

	restore(`["a", "b", "c"]`)
	refused := f.Apply("-target=" + cluster)
	refused.MustFail()
	refused.Says("The cluster has not lost its quorum")

	f.Lose("a", "b", "c")
	restore("[]")
	refused = f.Apply()
	refused.MustFail()
	if d := refused.Says("State which members are gone"); !strings.Contains(d.Detail, `gone = ["a", "b", "c"]`) {
		t.Errorf("the error is %s", d.Detail)
	}
	restore(`["a", "b", "c"]`)
	f.Form()
	if id := fmt.Sprint(f.State(cluster)["cluster_id"]); id == lost {
		t.Errorf("the cluster is still %s", id)
	}
	f.Settled()
	got, err := f.Client("a").Get(ctx, "kept")
	if err != nil || len(got.Kvs) != 1 || string(got.Kvs[0].Value) != "before" {
		t.Errorf("kept is %v, %v", got, err)
	}
	f.withoutRestore()
	f.Form()
	f.Settled()
}

// restoreFile overrides the argument restore.
const restoreFile = "restore_override.tf"

func (f *Fleet) restore(snapshot, sum, lost, gone string) {
	f.TB.Helper()
	f.Write(restoreFile, fmt.Sprintf(
		"resource \"etcd_cluster\" \"this\" {\n  restore = {\n    snapshot = %q\n    sha256 = %q\n    replaces_cluster = %q\n    gone = %s\n  }\n}\n", snapshot, sum, lost, gone))
}

func (f *Fleet) withoutRestore() {
	f.TB.Helper()
	if err := os.Remove(filepath.Join(f.Dir, restoreFile)); err != nil {
		f.TB.Fatal(err)
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
