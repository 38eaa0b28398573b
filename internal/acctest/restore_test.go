// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// restored is the argument restore.
type restored struct {
	file, sha256, replaces string
	revision               int64
	keys                   int
}

// restores writes the initial cluster with a restore, without one for nil.
func (f *Fleet) restores(t *testing.T, r *restored) {
	t.Helper()
	argument := ""
	if r != nil {
		argument = fmt.Sprintf("  restore = {\n    snapshot = %q\n    sha256 = %q\n    revision = %d\n    revision_bump = 1000000\n    mark_compacted = true\n", r.file, r.sha256, r.revision)
		if r.replaces != "" {
			argument += fmt.Sprintf("    replaces_cluster = %q\n", r.replaces)
		}
		argument += "  }\n"
	}
	f.Write("bootstrap.tf", strings.Replace(staticText, "  members = {", argument+"  members = {", 1))
}

// installUtl puts etcd and etcdutl of the fleet's version side by side on the machines.
func (f *Fleet) installUtl(t *testing.T) {
	t.Helper()
	bin := t.TempDir()
	for name, path := range map[string]string{"etcd": etcdtest.Binary(t, f.version()), "etcdutl": etcdtest.EtcdutlBinary(t, f.version())} {
		if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	f.env["ETCD_JOIN_BIN"] = bin
}

// fill writes keys to a cluster.
func (f *Fleet) fill(t *testing.T, n int, names ...string) {
	t.Helper()
	client, ctx := f.Client(names...), etcdtest.WaitContext(t)
	for begin := 0; begin < n; begin += 100 {
		var puts []clientv3.Op
		for i := begin; i < min(begin+100, n); i++ {
			puts = append(puts, clientv3.OpPut(fmt.Sprintf("kept/%d", i), "value"))
		}
		if _, err := client.Txn(ctx).Then(puts...).Commit(); err != nil {
			t.Fatal(err)
		}
	}
}

// backup takes a snapshot of what one member has.
func (f *Fleet) backup(t *testing.T, keys int, name string) *restored {
	t.Helper()
	ctx := etcdtest.WaitContext(t)
	client := f.Client(name)
	status, err := client.Status(ctx, f.Nodes[name].dial())
	if err != nil {
		t.Fatal(err)
	}
	stream, err := client.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(stream)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(text)
	r := &restored{file: filepath.Join(t.TempDir(), "snapshot.db"), sha256: hex.EncodeToString(sum[:]), revision: status.Header.Revision, keys: keys}
	if err := os.WriteFile(r.file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return r
}

// mustBeRestored expects the data of the snapshot, and nothing that was written
// after it.
func (f *Fleet) mustBeRestored(t *testing.T, r *restored, names ...string) {
	t.Helper()
	f.MustVote(names...)
	client, ctx := f.Client(names...), etcdtest.WaitContext(t)
	got, err := client.Get(ctx, "kept/", clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil || got.Count != int64(r.keys) || got.Header.Revision < r.revision+1000000 {
		t.Errorf("%d keys at revision %d (%v), want %d at %d or later", got.Count, got.Header.Revision, err, r.keys, r.revision+1000000)
	}
	late, err := client.Get(ctx, "late")
	if err != nil || len(late.Kvs) != 0 {
		t.Errorf("what was written after the snapshot is there: %v, %v", late, err)
	}
	watch, cancel := context.WithCancel(ctx)
	defer cancel()
	if resp, ok := <-client.Watch(watch, "kept/", clientv3.WithPrefix(), clientv3.WithRev(r.revision)); !ok || !errors.Is(resp.Err(), rpctypes.ErrCompacted) {
		t.Errorf("who watches from the old revision is told %v", resp.Err())
	}
	f.Plan().MustBeEmpty()
}

// Everything is lost but a backup, the state too: one apply makes a cluster of it.
// From then on the argument says how the cluster began, and nothing else.
func TestAccRestore(t *testing.T) {
	t.Parallel()
	versions := []etcdtest.Version{etcdtest.V36}
	keys := 500
	if full() {
		versions, keys = []etcdtest.Version{etcdtest.V35, etcdtest.V36, etcdtest.V37}, 10000
	}
	for _, v := range versions {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			f := NewFleet(t, FleetOptions{Static: true, Version: v})
			f.installUtl(t)
			f.Form()
			f.fill(t, keys, "a")
			r := f.backup(t, keys, "b")
			if _, err := f.Client("a").Put(etcdtest.WaitContext(t), "late", "value"); err != nil {
				t.Fatal(err)
			}
			f.Destroy().MustSucceed()
			f.MustBeGone()

			f.restores(t, r)
			f.Apply().MustSucceed().MustBeQuiet()
			f.mustBeRestored(t, r, "a", "b", "c")
			id := f.State(initialCluster)["cluster_id"]

			// Removed or changed, it plans nothing.
			f.restores(t, nil)
			f.Plan().MustBeEmpty()
			other := *r
			other.sha256, other.revision = strings.Repeat("ab", 32), 1
			f.restores(t, &other)
			f.Plan().MustBeEmpty()

			// A new member knows nothing of it.
			f.Add("d")
			f.Apply().MustSucceed()
			f.MustVote("a", "b", "c", "d")
			environment, ok := f.State(address("etcd_member_config", "d"))["environment"].(map[string]any)
			if _, has := environment["ETCD_JOIN_RESTORE"]; !ok || has {
				t.Errorf("the environment of a new member is %v", environment)
			}
			if now := f.State(initialCluster)["cluster_id"]; now != id {
				t.Errorf("cluster %v became %v", id, now)
			}
		})
	}
}

// Two disks of three are lost. The survivor gives a snapshot, and a reviewed plan
// makes a new cluster of it; whatever is not certain is refused.
func TestAccRecovery(t *testing.T) {
	t.Parallel()
	const keys = 300
	f := NewFleet(t, FleetOptions{Static: true})
	f.installUtl(t)
	f.Form()
	f.Apply("-refresh-only").MustSucceed()
	f.fill(t, keys, "a")
	old, ok := f.State(initialCluster)["cluster_id"].(string)
	if !ok {
		t.Fatalf("the cluster is %v", f.State(initialCluster))
	}
	r := f.backup(t, keys, "a")
	r.replaces = old
	f.restores(t, r)
	e := f.Apply().MustFail().MustSay("The cluster has not lost its quorum")
	e.mustContain(t, e.Summary, old)
	f.MustVote("a", "b", "c")

	if _, err := f.Client("a").Put(etcdtest.WaitContext(t), "late", "value"); err != nil {
		t.Fatal(err)
	}
	f.Lose("b", "c")
	// Without the confirmation nothing is replaced, and another ID is refused.
	wrong := *r
	wrong.replaces = "2a"
	f.restores(t, &wrong)
	e = f.Apply().MustFail().MustSay("Cannot restore the cluster")
	e.mustContain(t, e.Summary, "restore.replaces_cluster is 2a", old)
	f.restores(t, r)
	plan := f.Plan()
	want := map[string]string{initialCluster: "delete create"}
	for _, name := range []string{"a", "b", "c"} {
		maps.Copy(want, changes(name, "delete create"))
	}
	plan.MustDo(want)
	out := f.Apply().MustSucceed()
	warned := false
	for _, w := range out.Warnings() {
		if w.Summary == "A snapshot takes the place of a cluster" {
			warned = true
			w.mustContain(t, w.Summary, old, "a, b, c", fmt.Sprintf("Writes after revision %d", r.revision))
		}
	}
	if !warned {
		t.Errorf("nothing tells what is given up:\n%s", out)
	}
	f.mustBeRestored(t, r, "a", "b", "c")
	if now := f.State(initialCluster)["cluster_id"]; now == old {
		t.Error("the restored cluster has the ID of the old one")
	}
	f.restores(t, nil)
	f.Plan().MustBeEmpty()
}
