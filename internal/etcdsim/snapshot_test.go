// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdsim

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/clock"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/database"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// download returns the database in a snapshot. The hash behind it must be right.
func download(tb etcdtest.TB, m *clientv3.Client) (db []byte, version string) {
	tb.Helper()
	resp, err := m.SnapshotWithVersion(within(tb))
	ok(tb, err)
	all, err := io.ReadAll(resp.Snapshot)
	ok(tb, err)
	ok(tb, resp.Snapshot.Close())
	same(tb, "size of the hash", len(all)%512, sha256.Size)
	db = all[:len(all)-sha256.Size]
	same(tb, "hash", fmt.Sprintf("%x", all[len(db):]), fmt.Sprintf("%x", sha256.Sum256(db)))
	return db, resp.Version
}

func contents(tb etcdtest.TB, db []byte) database.Contents {
	tb.Helper()
	got, err := database.Read(within(tb), bytes.NewReader(db), int64(len(db)))
	ok(tb, err)
	return got
}

// saves states what the snapshot of a member holds that has applied the given list.
func saves(tb etcdtest.TB, m member, v Version, list []*pb.Member) database.Contents {
	tb.Helper()
	db, version := download(tb, m.Client)
	minor := string(v)[:4] + "0"
	holds := []string{"clusterVersion" + minor}
	if v.from36() {
		holds = append(holds, "storageVersion"+minor)
		same(tb, "version", version, minor)
	} else {
		same(tb, "version", version, "")
	}
	for _, o := range list { // a value follows its key
		learner := ""
		if o.IsLearner {
			learner = `"isLearner":true,`
		}
		holds = append(holds, fmt.Sprintf(`%x{"id":%d,"peerURLs":["%s"],%s"name":"%s","clientURLs":["%s"]}`, o.ID, o.ID, o.PeerURLs[0], learner, o.Name, o.ClientURLs[0]))
	}
	for _, what := range holds {
		if !bytes.Contains(db, []byte(what)) {
			tb.Fatalf("the database does not hold %s", what)
		}
	}
	return contents(tb, db)
}

// The snapshot of each member holds the keys, whether they fit into a message or not.
func snapshotCase(tb etcdtest.TB, s system) {
	ms := open(tb, s.servers()...)
	ctx := within(tb)
	state := func() {
		tb.Helper()
		all, err := ms[0].Get(ctx, "", clientv3.WithPrefix(), clientv3.WithCountOnly())
		ok(tb, err)
		for _, m := range ms {
			revision(tb, m) // so that it has applied everything
			same(tb, "contents", saves(tb, m, s.version(), ms[0].list(tb)), database.Contents{Revision: all.Header.Revision, Keys: all.Count})
		}
	}
	_, err := ms[0].Put(ctx, "s/a", "")
	ok(tb, err)
	state()
	_, err = ms[1].Txn(ctx).Then(clientv3.OpPut("s/b", strings.Repeat("x", 100<<10)), clientv3.OpPut("s/c", "")).Commit()
	ok(tb, err)
	state()
	_, err = ms[2].Delete(ctx, "s/", clientv3.WithPrefix())
	ok(tb, err)
	state()
}

// etcdutl checks every page. The keys are of several levels of pages, and what a
// compaction leaves of them is counted by hand.
func TestSnapshotAsEtcdutlReadsIt(t *testing.T) {
	simulation(t, "3.7.3", "a b c", func(t *testing.T, _ *Network, _ *Cluster, p map[string]*Process) {
		a := p["a"].at(t, "test")
		check := func(want database.Contents) []byte {
			t.Helper()
			db, _ := download(t, a)
			same(t, "contents", contents(t, db), want)
			path := filepath.Join(t.TempDir(), "db")
			ok(t, os.WriteFile(path, db, 0o600))
			status := etcdtest.EtcdutlStatus(t, path)
			same(t, "as etcdutl reads it", line(status.Revision, status.TotalKey, status.TotalSize), line(want.Revision, want.Keys, len(db)))
			return db
		}
		check(database.Contents{})
		for i := range 200 {
			var ops []clientv3.Op
			for j := range 100 {
				ops = append(ops, clientv3.OpPut(fmt.Sprint(i, "/", j), strings.Repeat("v", j)))
			}
			_, err := a.Txn(t.Context()).Then(ops...).Commit()
			ok(t, err)
		}
		_, err := a.Put(t.Context(), strings.Repeat("long", 5000), strings.Repeat("x", 1<<20))
		ok(t, err)
		_, err = a.Delete(t.Context(), "1/", clientv3.WithPrefix()) // at 203
		ok(t, err)
		_, err = a.Put(t.Context(), "2/0", "")
		ok(t, err)
		db := check(database.Contents{Revision: 204, Keys: 19901})
		for name, q := range p {
			if other, _ := download(t, q.at(t, "test")); !bytes.Equal(other, db) {
				t.Errorf("%s has another database in an equal state", name)
			}
		}
		for _, at := range []int64{203, 204} {
			_, err = a.Compact(t.Context(), at)
			ok(t, err)
			check(database.Contents{Revision: 204, Keys: 19901})
		}
		changes := func() int { return len(p["a"].state.changes()) }
		same(t, "changes", changes(), 19901)
		_, err = a.Delete(t.Context(), "2/", clientv3.WithPrefix()) // at 205
		ok(t, err)
		_, err = a.Compact(t.Context(), 205)
		ok(t, err)
		same(t, "changes with the deletions at the compaction", changes(), 19901)
		check(database.Contents{Revision: 205, Keys: 19801})
		_, err = a.Put(t.Context(), "2/0", "")
		ok(t, err)
		_, err = a.Compact(t.Context(), 206)
		ok(t, err)
		same(t, "changes without earlier deletions", changes(), 19802)
	})
}

// A snapshot ends with its member, and waits for a member that is frozen. What the
// provider saves through a pool is complete or not there.
func TestInterruptedSnapshot(t *testing.T) {
	simulation(t, "3.6.16", "a", func(t *testing.T, n *Network, _ *Cluster, p map[string]*Process) {
		a := p["a"]
		_, err := a.at(t, "test").Put(t.Context(), "key", strings.Repeat("x", 100<<10))
		ok(t, err)
		messages, at := 0, map[int]func(){}
		n.Before = func(_ context.Context, c Call) error {
			if !c.Late && c.Method == pb.Maintenance_Snapshot_FullMethodName {
				if f := at[messages]; f != nil {
					f()
				}
				messages++
			}
			return nil
		}
		dir := t.TempDir()
		save := func() (reconfigure.Saved, error) {
			messages = 0
			pool := &connection.Pool{World: n.Run("one")}
			defer func() { ok(t, pool.Close()) }()
			settings := connection.Settings{Endpoints: []string{a.ClientURL}}
			e := &reconfigure.Engine{Cluster: cluster.New(settings, pool), Clock: clock.System{}}
			return e.Save(t.Context(), reconfigure.SaveRequest{Path: filepath.Join(dir, "db"), Overwrite: true, Limit: time.Minute}, func(reconfigure.Step) {})
		}
		for what, f := range map[string]func(){
			"ends":     a.PowerOff,
			"restarts": func() { a.PowerOff(); ok(t, a.Start()) },
			"freezes":  a.Freeze,
			"is cut":   func() { n.Cut("one", a.ClientURL) },
		} {
			at = map[int]func(){2: f}
			_, err := save()
			files, _ := os.ReadDir(dir)
			if !errors.As(err, new(*reconfigure.Unfinished)) || len(files) > 0 || messages < 3 {
				t.Errorf("a member that %s before the third of %d messages: %v, %v", what, messages, err, files)
			}
			a.Thaw()
			n.Heal("", a.ClientURL)
			n.Heal("one", a.ClientURL)
			_ = a.Start()
		}
		at = map[int]func(){2: func() { a.Freeze(); time.AfterFunc(time.Second, a.Thaw) }}
		saved, err := save()
		ok(t, err)
		files, err := os.ReadDir(dir)
		ok(t, err)
		same(t, "saved", line(saved.Contents, len(files), messages), line(database.Contents{Revision: 2, Keys: 1}, 1, 5))
	})
}
