// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package joinscript

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// keys is the number of keys in a backup.
const keys = 40

// backup fills a single-member cluster and returns a snapshot of it, its
// SHA-256 and its revision. It writes more keys after the snapshot.
func backup(t *testing.T, v etcdtest.Version) (file, sum string, revision int64) {
	t.Helper()
	c := etcdtest.Start(t, 1, etcdtest.Options{Version: v, Names: []string{"old"}})
	client, ctx := c.Client(t), etcdtest.WaitContext(t)
	put := func(key string) int64 {
		t.Helper()
		resp, err := client.Put(ctx, key, "value of "+key)
		if err != nil {
			t.Fatal(err)
		}
		return resp.Header.Revision
	}
	for i := range keys {
		revision = put(fmt.Sprintf("key%d", i))
	}
	// A snapshot contains its version a few seconds after the start of the cluster.
	etcdtest.Eventually(t, "the snapshot has a version", func() error {
		file, sum = save(t, client)
		text, err := os.ReadFile(file)
		if err == nil && v == etcdtest.V37 && !bytes.Contains(text, []byte("storageVersion")) {
			err = errors.New("none yet")
		}
		return err
	})
	put("late")
	c.Members()[0].PowerOff()
	return file, sum, revision
}

// save writes a snapshot to a file and returns the file's SHA-256.
func save(t *testing.T, client *clientv3.Client) (file, sum string) {
	t.Helper()
	stream, err := client.Snapshot(etcdtest.WaitContext(t))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(stream)
	if err != nil {
		t.Fatal(err)
	}
	digest := sha256.Sum256(text)
	file = filepath.Join(t.TempDir(), "snapshot.db")
	put(t, file, string(text))
	return file, hex.EncodeToString(digest[:])
}

// programs returns a directory with etcd and etcdutl of a version.
func programs(t *testing.T, v etcdtest.Version) string {
	t.Helper()
	bin := t.TempDir()
	for name, path := range map[string]string{"etcd": etcdtest.Binary(t, v), "etcdutl": etcdtest.EtcdutlBinary(t, v)} {
		if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	return bin
}

// restoringFounders returns initial members of a cluster that starts from a snapshot.
func restoringFounders(t *testing.T, sh shell, v etcdtest.Version, n int, file, sum string) []*etcdtest.Process {
	t.Helper()
	founders := staticFounders(t, sh, v, n)
	for _, p := range founders {
		restores(t, sh, p, file, sum)
	}
	return founders
}

// restores makes an initial member start from a snapshot.
func restores(t *testing.T, sh shell, p *etcdtest.Process, file, sum string) {
	t.Helper()
	p.Env["ETCD_JOIN_BIN"], p.Env[RestoreVariable], p.Env[RestoreSHA256Variable] = programs(t, p.Version), file, sum
	p.Env[RestoreBumpVariable] = "1000000"
	sh.before(t, p)
}

// Test that three members form a cluster with the data of a snapshot, that clients
// can distinguish it from the old cluster, and that each member restores once.
func TestRestoredCluster(t *testing.T) {
	t.Parallel()
	eachVersion(t, versions, func(t *testing.T, v etcdtest.Version, sh shell) {
		file, sum, revision := backup(t, v)
		founders := restoringFounders(t, sh, v, 3, file, sum)
		a, b, c := founders[0], founders[1], founders[2]
		b.Supervise(supervised) // waits for the first member
		a.Supervise(supervised)
		ready(t, a, b)
		c.Supervise(supervised)
		ready(t, c)
		client := a.Client(t)
		oneCluster(t, 3, client, a, b, c)
		ctx := etcdtest.WaitContext(t)
		got, err := client.Get(ctx, "", clientv3.WithPrefix(), clientv3.WithKeysOnly())
		if err != nil || len(got.Kvs) != keys || got.Header.Revision < revision+1000000 {
			t.Fatalf("%d keys at revision %d, %v; want %d at %d or later", len(got.Kvs), got.Header.Revision, err, keys, revision+1000000)
		}
		for _, p := range founders {
			compacted(t, p.Client(t), revision)
		}

		// It keeps its data even if the snapshot is deleted.
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		a.Kill()
		ready(t, a)
		never(t, a)
	})
}

// compacted expects that a watch from a revision fails because the revision is
// compacted.
func compacted(t *testing.T, client *clientv3.Client, revision int64) {
	t.Helper()
	ctx, cancel := context.WithCancel(etcdtest.WaitContext(t))
	defer cancel()
	resp, ok := <-client.Watch(ctx, "key", clientv3.WithPrefix(), clientv3.WithRev(revision))
	if err := resp.Err(); !ok || !errors.Is(err, rpctypes.ErrCompacted) || resp.CompactRevision <= revision {
		t.Errorf("who watches from revision %d is told %v, %d", revision, err, resp.CompactRevision)
	}
}

// Test what etcdutl itself rejects: a truncated or modified file, a file that is
// not a snapshot, and data of a later version. Nothing is started, nothing remains.
func TestFilesThatCannotBeRestored(t *testing.T) {
	t.Parallel()
	eachVersion(t, versions, func(t *testing.T, v etcdtest.Version, sh shell) {
		file, _, _ := backup(t, v)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		later, _, _ := backup(t, etcdtest.V37)
		newer, err := os.ReadFile(later)
		if err != nil {
			t.Fatal(err)
		}
		changed := bytes.Clone(text)
		changed[len(changed)/2] ^= 1
		cases := map[string]struct {
			text []byte
			says string
		}{
			"cut":         {text[:len(text)-1000], "etcdutl says: "},
			"changed":     {changed, "etcdutl says: expected sha256"},
			"empty":       {nil, "etcdutl says: "},
			"no snapshot": {[]byte(strings.Repeat("not a snapshot, but long enough to be one.", 400)), "etcdutl says: "},
		}
		if v != etcdtest.V37 {
			cases["newer"] = struct {
				text []byte
				says string
			}{newer, "it is of etcd 3.7, and "}
		}
		bin := programs(t, v)
		sh.script = Restore()
		for name, c := range cases {
			dir := filepath.Join(t.TempDir(), "data")
			bad := filepath.Join(t.TempDir(), "bad.db")
			put(t, bad, string(c.text))
			digest := sha256.Sum256(c.text)
			r := ask(t, sh, true, nil, "ETCD_INITIAL_CLUSTER=us="+own, "ETCD_INITIAL_CLUSTER_TOKEN=T", window, at(created), "ETCD_DATA_DIR="+dir, "ETCD_JOIN_BIN="+bin,
				RestoreVariable+"="+bad, RestoreSHA256Variable+"="+hex.EncodeToString(digest[:]))
			if r.want(t, exitRetry, "", "cannot restore the snapshot: "+c.says); t.Failed() {
				t.Fatalf("%s: %s", name, r.stderr)
			}
			t.Logf("%s: %s", name, r.stderr)
			wantNothing(t, dir)
		}
	})
}

// Test that a snapshot restored by etcdutl 3.6 with an increased revision
// starts under etcd 3.5, and that etcdutl 3.5 produces the same.
func TestRestoredByALaterEtcdutl(t *testing.T) {
	t.Parallel()
	file, sum, revision := backup(t, etcdtest.V35)
	for _, utl := range []etcdtest.Version{etcdtest.V35, etcdtest.V36, etcdtest.V37} {
		t.Run(string(utl), func(t *testing.T) {
			t.Parallel()
			sh := nth(t, 0)
			a := restoringFounders(t, sh, etcdtest.V35, 1, file, sum)[0]
			link := filepath.Join(a.Env["ETCD_JOIN_BIN"], "etcdutl")
			if err := errors.Join(os.Remove(link), os.Symlink(etcdtest.EtcdutlBinary(t, utl), link)); err != nil {
				t.Fatal(err)
			}
			a.Supervise(supervised)
			ready(t, a)
			got, err := a.Client(t).Get(etcdtest.WaitContext(t), "", clientv3.WithPrefix(), clientv3.WithKeysOnly())
			if err != nil || len(got.Kvs) != keys || got.Header.Revision < revision+1000000 {
				t.Errorf("%v, %v", got, err)
			}
			compacted(t, a.Client(t), revision)
		})
	}
}
