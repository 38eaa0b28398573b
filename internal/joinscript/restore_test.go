// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package joinscript

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
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
		must.Succeed(t, err)
		return resp.Header.Revision
	}
	for i := range keys {
		revision = put(fmt.Sprintf("key%d", i))
	}
	// A snapshot contains its version a few seconds after the start of the cluster.
	var text []byte
	etcdtest.Eventually(t, "the snapshot has a version", func() error {
		file = filepath.Join(t.TempDir(), "snapshot.db")
		_, err := c.Etcdctl("snapshot", "save", file)
		if err == nil {
			text, err = os.ReadFile(file)
		}
		if err == nil && v == etcdtest.V37 && !bytes.Contains(text, []byte("storageVersion")) {
			err = errors.New("none yet")
		}
		return err
	})
	put("late")
	c.Members()[0].PowerOff()
	return file, fmt.Sprintf("%x", sha256.Sum256(text)), revision
}

// restores makes an initial member start from a snapshot, with an etcdutl of a version.
func restores(t *testing.T, sh shell, p *etcdtest.Process, utl etcdtest.Version, file, sum string) {
	t.Helper()
	link(t, p, "etcdutl", etcdtest.EtcdutlBinary(t, utl))
	p.Env[RestoreVariable], p.Env[RestoreSHA256Variable], p.Env[RestoreBumpVariable] = file, sum, "1000000"
	sh.before(t, p)
}

// Test that members form a cluster with the data of a snapshot, that clients can
// distinguish it from the old cluster, and that each member restores once: with the
// etcdutl of each version, and that of a later version under etcd 3.5.
func TestRestoredCluster(t *testing.T) {
	t.Parallel()
	for i, c := range []struct {
		etcd, utl etcdtest.Version
		members   int
	}{
		{etcdtest.V35, etcdtest.V35, 3}, {etcdtest.V36, etcdtest.V36, 3}, {etcdtest.V37, etcdtest.V37, 3}, {etcdtest.V35, etcdtest.V36, 1}, {etcdtest.V35, etcdtest.V37, 1},
	} {
		t.Run(fmt.Sprintf("etcd %s, etcdutl %s", c.etcd, c.utl), func(t *testing.T) {
			t.Parallel()
			sh := nth(t, i)
			file, sum, revision := backup(t, c.etcd)
			founders := staticFounders(t, sh, c.etcd, c.members)
			// The first member is the last one to start.
			for i, p := range slices.Backward(founders) {
				restores(t, sh, p, c.utl, file, sum)
				if i < 2 {
					p.Supervise(supervised)
				}
			}
			a, last := founders[0], founders[len(founders)-1]
			ready(t, founders[:min(2, len(founders))]...)
			if c.members > 2 {
				last.Supervise(supervised)
			}
			ready(t, last)
			client := a.Client(t)
			oneCluster(t, c.members, client, founders...)
			got, err := client.Get(etcdtest.WaitContext(t), "", clientv3.WithPrefix(), clientv3.WithKeysOnly())
			if err != nil || len(got.Kvs) != keys || got.Header.Revision < revision+1000000 {
				t.Fatalf("%d keys at revision %d, %v; want %d at %d or later", len(got.Kvs), got.Header.Revision, err, keys, revision+1000000)
			}
			for _, p := range founders {
				compacted(t, p.Client(t), revision)
			}
			// It keeps its data even if the snapshot is deleted.
			must.Succeed(t, os.Remove(file))
			a.Kill()
			ready(t, a)
			if c.members > 1 {
				never(t, a)
			}
		})
	}
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
	eachVersion(t, func(t *testing.T, v etcdtest.Version, sh shell) {
		file, _, _ := backup(t, v)
		text := must.Read(t, file)
		changed := []byte(text)
		changed[len(changed)/2] ^= 1
		bad := map[string]string{
			text[:len(text)-1000]: "etcdutl says: ", string(changed): "etcdutl says: expected sha256", "": "etcdutl says: ",
			strings.Repeat("not a snapshot, but long enough to be one.", 400): "etcdutl says: ",
		}
		if v != etcdtest.V37 {
			later, _, _ := backup(t, etcdtest.V37)
			bad[must.Read(t, later)] = "it is of etcd 3.7, and "
		}
		p := machines(t, sh, v, 1, nil)[0]
		link(t, p, "etcdutl", etcdtest.EtcdutlBinary(t, v))
		sh.script = Restore()
		for text, says := range bad {
			file := filepath.Join(t.TempDir(), "bad.db")
			put(t, file, text)
			digest := sha256.Sum256([]byte(text))
			run := fmt.Sprintf("a bad file|initial window ETCD_FEATURE_GATES=InitialCorruptCheck=false %s=%s %s=%x ETCD_JOIN_BIN=%s", RestoreVariable, file, RestoreSHA256Variable, digest, p.Env["ETCD_JOIN_BIN"])
			newScene(t, sh, nil, "", rowOf(run+"| | wait | cannot restore the snapshot: "+says+" | clean")).play()
		}
	})
}

// Test that etcd of every version refuses to start on a store that differs from that of its
// peers, until the user turns the check off, and that it never keeps a healthy cluster down:
// whether one member starts before the others or all at once, of which none serves yet.
func TestDamagedStore(t *testing.T) {
	t.Parallel()
	eachVersion(t, func(t *testing.T, v etcdtest.Version, sh shell) {
		members := staticFounders(t, sh, v, 3)
		for _, p := range members {
			// 3.5 reads who its peers are from a snapshot of its log, so late.
			p.Env["ETCD_SNAPSHOT_COUNT"] = "5"
			p.Supervise(supervised)
		}
		ready(t, members...)
		a, c := members[0], members[2]
		client := a.Client(t)
		for range 20 {
			_, err := client.Put(etcdtest.WaitContext(t), "k", "a sound value")
			must.Succeed(t, err)
		}
		database := filepath.Join(c.Dir(), "member", "snap", "db")
		etcdtest.Until(t, "c has stored the value, and a snapshot", func() bool {
			snapshots, _ := filepath.Glob(filepath.Join(c.Dir(), "member", "snap", "*.snap"))
			return len(snapshots) > 0 && strings.Contains(must.Read(t, database), "a sound value")
		})

		for _, p := range members {
			p.PowerOff()
		}
		a.Supervise(supervised)
		logged(t, a, "initial corruption checking passed")
		for _, p := range members[1:] {
			p.Supervise(supervised)
		}
		ready(t, members...)
		for _, p := range members {
			p.PowerOff()
		}
		for _, p := range members {
			p.Supervise(supervised)
		}
		ready(t, members...)

		c.PowerOff()
		must.Write(t, database, strings.ReplaceAll(must.Read(t, database), "a sound value", "a wrong value"))
		starts := c.Starts()
		c.Supervise(supervised)
		logged(t, c, "found data inconsistency with peers")
		etcdtest.Until(t, "c is started again", func() bool { return c.Starts() > starts+1 })
		c.PowerOff()
		if n := strings.Count(c.Log(), "found data inconsistency with peers"); n < c.Starts()-starts-1 {
			t.Errorf("c was started %d times on a damaged store, and refused it %d times", c.Starts()-starts, n)
		}
		c.Env["ETCD_FEATURE_GATES"] = "InitialCorruptCheck=false"
		c.Supervise(supervised)
		ready(t, members...)
	})
}
