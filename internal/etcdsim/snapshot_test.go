// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdsim

import (
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
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// download returns the database in a snapshot. The hash behind it must be right.
func download(tb etcdtest.TB, m member) (db []byte, version string) {
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

// Each member sends a whole database, whether it fits into a message or not.
func snapshotCase(tb etcdtest.TB, s system) {
	ms := open(tb, s.servers...)
	saves := func(least int) {
		tb.Helper()
		for _, m := range ms {
			revision(tb, m) // so that it has applied everything
			db, version := download(tb, m)
			want := ""
			if s.version.from36() {
				want = string(s.version)[:4] + "0"
			}
			same(tb, "version", version, want)
			if len(db) < least {
				tb.Fatalf("the database has %d bytes, want %d and more", len(db), least)
			}
		}
	}
	saves(1)
	_, err := ms[1].Txn(within(tb)).Then(clientv3.OpPut("s/b", strings.Repeat("x", 100<<10)), clientv3.OpPut("s/c", "")).Commit()
	ok(tb, err)
	saves(100 << 10)
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
			return e.Save(t.Context(), reconfigure.SaveRequest{Path: filepath.Join(dir, "db"), Overwrite: true, Limit: time.Minute})
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
		same(t, "saved", line(saved.Backup.Least, saved.Backup.Most, len(files), messages), line(2, 2, 2, 5)) // the file and its record
	})
}
