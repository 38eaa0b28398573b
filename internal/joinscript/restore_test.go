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
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// keys is how many keys a backup has.
const keys = 40

// backup fills a cluster of one and returns a snapshot of it, its SHA-256 and its
// revision. More is written after it.
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
	file, sum = save(t, client)
	put("late")
	c.Members()[0].PowerOff()
	return file, sum, revision
}

// save writes a snapshot to a file, and returns the SHA-256 of that.
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
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file, hex.EncodeToString(digest[:])
}

// programs is a directory with etcd and etcdutl of a version.
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

// restoringFounders are founders of a cluster that begins with a snapshot.
func restoringFounders(t *testing.T, sh shell, v etcdtest.Version, n int, file, sum string) []*etcdtest.Process {
	t.Helper()
	founders := staticFounders(t, sh, v, n)
	for _, p := range founders {
		restores(t, sh, p, file, sum)
	}
	return founders
}

// restores lets an initial member begin with a snapshot.
func restores(t *testing.T, sh shell, p *etcdtest.Process, file, sum string) {
	t.Helper()
	p.Env["ETCD_JOIN_BIN"], p.Env[RestoreVariable], p.Env[RestoreSHA256Variable] = programs(t, p.Version), file, sum
	p.Env[RestoreBumpVariable] = "1000000"
	sh.before(t, p)
}

// Three members become a cluster with the data of a snapshot, which its clients
// cannot take for the old one; each restores once.
func TestRestoredCluster(t *testing.T) {
	t.Parallel()
	eachVersion(t, versions, func(t *testing.T, v etcdtest.Version, sh shell) {
		file, sum, revision := backup(t, v)
		founders := restoringFounders(t, sh, v, 3, file, sum)
		a, b, c := founders[0], founders[1], founders[2]
		b.Supervise(supervised) // waits for the first one
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

		// It has its data, whatever becomes of the snapshot.
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		a.Kill()
		ready(t, a)
		never(t, a)
	})
}

// compacted expects that who watches from a revision is told to read everything
// again.
func compacted(t *testing.T, client *clientv3.Client, revision int64) {
	t.Helper()
	ctx, cancel := context.WithCancel(etcdtest.WaitContext(t))
	defer cancel()
	resp, ok := <-client.Watch(ctx, "key", clientv3.WithPrefix(), clientv3.WithRev(revision))
	if err := resp.Err(); !ok || !errors.Is(err, rpctypes.ErrCompacted) || resp.CompactRevision <= revision {
		t.Errorf("who watches from revision %d is told %v, %d", revision, err, resp.CompactRevision)
	}
}

// The first member dies right after it has restored; the others go on without it
// no sooner than it is back, and one that comes late needs no snapshot.
func TestRestoredClusterAfterACrash(t *testing.T) {
	t.Parallel()
	eachVersion(t, versions, func(t *testing.T, v etcdtest.Version, sh shell) {
		file, sum, _ := backup(t, v)
		founders := restoringFounders(t, sh, v, 3, file, sum)
		a, b, c := founders[0], founders[1], founders[2]
		a.Supervise(supervised)
		etcdtest.Eventually(t, "the first one is started", func() error {
			if a.Starts() == 0 {
				return errors.New("not yet")
			}
			return nil
		})
		a.Kill()
		b.Supervise(supervised)
		ready(t, a, b)
		c.Env[RestoreVariable] = "/nowhere"
		c.Supervise(supervised)
		ready(t, c)
		oneCluster(t, 3, a.Client(t), a, b, c)
		got, err := c.Client(t).Get(etcdtest.WaitContext(t), "key1")
		if err != nil || len(got.Kvs) != 1 {
			t.Errorf("the one that came late has %v, %v", got, err)
		}
	})
}

// What etcdutl itself refuses: a file that is cut or changed, one that is no
// snapshot, and the data of a later version. Nothing is started and nothing left.
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
			if err := os.WriteFile(bad, c.text, 0o600); err != nil {
				t.Fatal(err)
			}
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

// The survivor of a lost quorum still runs. The new members wait as long as it is
// in the place of one of them, and it can neither join their cluster nor split it
// when it comes back later.
func TestRestoredClusterAndTheSurvivor(t *testing.T) {
	t.Parallel()
	eachVersion(t, versions, func(t *testing.T, v etcdtest.Version, sh shell) {
		members := staticFounders(t, sh, v, 3)
		a, b, c := members[0], members[1], members[2]
		a.Supervise(supervised)
		b.Supervise(supervised)
		c.Supervise(supervised)
		ready(t, a, b, c)
		ctx := etcdtest.WaitContext(t)
		client := a.Client(t)
		if _, err := client.Put(ctx, "kept", "value"); err != nil {
			t.Fatal(err)
		}
		was, err := client.MemberList(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []*etcdtest.Process{a, c} {
			p.PowerOff()
			p.Wipe()
		}
		file, sum := save(t, b.Client(t))
		for _, p := range members {
			p.Env["ETCD_INITIAL_CLUSTER_TOKEN"] += "-restored"
			restores(t, sh, p, file, sum)
		}
		starts := a.Starts() + c.Starts()
		a.Supervise(supervised)
		c.Supervise(supervised)
		for _, p := range []*etcdtest.Process{a, c} {
			logged(t, p, "etcd-join: only 1 of its 2 other voters give the same list of members")
		}
		if now := a.Starts() + c.Starts(); now != starts {
			t.Fatalf("etcd was started %d times while the survivor runs", now-starts)
		}

		// Its machine is replaced.
		b.PowerOff()
		old := b.Dir() + ".old"
		if err := os.Rename(b.Dir(), old); err != nil {
			t.Fatal(err)
		}
		b.Supervise(supervised)
		ready(t, a, b, c)
		client = a.Client(t)
		oneCluster(t, 3, client, a, b, c)
		now, err := client.MemberList(ctx)
		if err != nil || now.Header.ClusterId == was.Header.ClusterId {
			t.Fatalf("the restored cluster has the ID of the old one, %x (%v)", was.Header.ClusterId, err)
		}

		// It comes back in the place of a new member, with its old data.
		b.PowerOff()
		restored := b.Dir() + ".restored"
		if err := errors.Join(os.Rename(b.Dir(), restored), os.Rename(old, b.Dir())); err != nil {
			t.Fatal(err)
		}
		script := b.PreStart
		b.PreStart = nil
		refused := strings.Count(b.Log(), "cluster ID mismatch")
		b.Start()
		etcdtest.Eventually(t, "the old member is refused", func() error {
			if !b.Running() {
				return fmt.Errorf("it ended with %d", b.ExitCode())
			}
			if n := strings.Count(b.Log(), "cluster ID mismatch"); n < refused+3 {
				return fmt.Errorf("%d times", n-refused)
			}
			return nil
		})
		if _, err := client.Put(ctx, "later", "value"); err != nil {
			t.Error(err)
		}
		after, err := client.MemberList(ctx)
		if err != nil || fmt.Sprint(after.Members) != fmt.Sprint(now.Members) {
			t.Errorf("the members were %v and are %v (%v)", now.Members, after.Members, err)
		}
		// Without a leader it serves no client.
		one, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		if status, err := b.Client(t).Status(one, b.ClientURL()); err == nil {
			t.Errorf("the survivor serves clients: %v", status)
		}
		b.PowerOff()
		if err := errors.Join(os.Rename(b.Dir(), old), os.Rename(restored, b.Dir())); err != nil {
			t.Fatal(err)
		}
		b.PreStart = script
		b.Supervise(supervised)
		ready(t, b)
		if got, err := b.Client(t).Get(ctx, "later"); err != nil || len(got.Kvs) != 1 {
			t.Errorf("b has %v, %v", got, err)
		}
	})
}

// Users, roles and leases come back with the data; a lease has its whole time to
// live again, and ends after it. Where the quorum is lost nobody can log in, so the
// snapshot is of a copy of the survivor's data, as the guide has it.
func TestRestoredUsersAndLeases(t *testing.T) {
	t.Parallel()
	const password = "correct horse"
	eachVersion(t, versions, func(t *testing.T, v etcdtest.Version, sh shell) {
		old := etcdtest.Start(t, 2, etcdtest.Options{Version: v, Password: password})
		client, ctx := old.Client(t), etcdtest.WaitContext(t)
		_, err1 := client.RoleAdd(ctx, "app")
		_, err2 := client.RoleGrantPermission(ctx, "app", "app/", clientv3.GetPrefixRangeEnd("app/"), clientv3.PermissionType(clientv3.PermReadWrite))
		_, err3 := client.UserAdd(ctx, "joe", password)
		_, err4 := client.UserGrantRole(ctx, "joe", "app")
		lease, err5 := client.Grant(ctx, 8)
		if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
			t.Fatal(err)
		}
		if _, err := client.Put(ctx, "app/leased", "value", clientv3.WithLease(lease.ID)); err != nil {
			t.Fatal(err)
		}
		survivor, other := old.Members()[0], old.Members()[1]
		if _, err := survivor.Client(t).Get(ctx, "app/leased"); err != nil { // it has it now
			t.Fatal(err)
		}
		other.PowerOff()
		survivor.PowerOff()
		alone := etcdtest.NewProcess(t, etcdtest.Options{Name: "copy", Version: v, Password: password, Args: []string{"--force-new-cluster"}})
		if err := os.CopyFS(alone.Dir(), os.DirFS(survivor.Dir())); err != nil {
			t.Fatal(err)
		}
		alone.Start()
		ready(t, alone)
		file, sum := save(t, alone.Client(t))
		alone.PowerOff()

		a := etcdtest.NewProcess(t, etcdtest.Options{Name: "a", Version: v, Password: password})
		now := time.Now().Unix()
		maps.Copy(a.Env, map[string]string{
			"ETCD_INITIAL_CLUSTER": "a=" + a.PeerURL(), "ETCD_INITIAL_CLUSTER_STATE": "new", "ETCD_INITIAL_CLUSTER_TOKEN": strings.ReplaceAll(t.Name(), "/", "-"),
			WindowVariable: fmt.Sprintf("%d-%d", now, now+3600),
		})
		restores(t, sh, a, file, sum)
		a.Supervise(supervised)
		ready(t, a)
		root := a.Client(t)
		if got, err := root.Get(ctx, "app/leased"); err != nil || len(got.Kvs) != 1 || got.Kvs[0].Lease != int64(lease.ID) {
			t.Errorf("under the lease are %v, %v", got, err)
		}
		if left, err := root.TimeToLive(ctx, lease.ID); err != nil || left.GrantedTTL != lease.TTL || left.TTL <= 0 {
			t.Errorf("the lease is %+v, %v", left, err)
		}
		as := func(user, password string) (*clientv3.Client, error) {
			c, err := clientv3.New(clientv3.Config{Endpoints: []string{a.ClientURL()}, Username: user, Password: password, DialTimeout: 5 * time.Second, Logger: zap.NewNop()})
			if err == nil {
				t.Cleanup(func() { _ = c.Close() })
			}
			return c, err
		}
		joe, err := as("joe", password)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := joe.Put(ctx, "app/x", "value"); err != nil {
			t.Error(err)
		}
		if _, err := joe.Put(ctx, "other", "value"); !errors.Is(err, rpctypes.ErrPermissionDenied) {
			t.Errorf("joe writes elsewhere: %v", err)
		}
		if _, err := as("joe", "wrong"); !errors.Is(err, rpctypes.ErrAuthFailed) {
			t.Errorf("joe logs in with another password: %v", err)
		}
		if nobody, err := as("", ""); err != nil {
			t.Error(err)
		} else if _, err := nobody.Get(ctx, "app/x"); !errors.Is(err, rpctypes.ErrUserEmpty) {
			t.Errorf("somebody without a user name reads: %v", err)
		}
		etcdtest.Eventually(t, "the lease ends", func() error {
			got, err := root.Get(ctx, "app/leased")
			if err == nil && len(got.Kvs) > 0 {
				err = errors.New("its key is still there")
			}
			return err
		})
	})
}

// serve serves a file and returns its URL.
func serve(t *testing.T, file string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, file) }))
	t.Cleanup(server.Close)
	return server.URL
}

// A server that sends nothing is given up after half a minute, and the next run
// asks again.
func TestRestoreFromASlowServer(t *testing.T) {
	t.Parallel()
	if !whole() {
		t.Skip("it takes 30 s: ETCD_TEST_FULL=1 runs it")
	}
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000000")
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-release
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(release) })
	bin := programs(t, etcdtest.V36)
	dir := filepath.Join(t.TempDir(), "data")
	sh := shells(t)[0]
	sh.script = Restore()
	ask(t, sh, true, nil, "ETCD_INITIAL_CLUSTER=us="+own, "ETCD_INITIAL_CLUSTER_TOKEN=T", window, at(created), "ETCD_DATA_DIR="+dir, "ETCD_JOIN_BIN="+bin,
		RestoreVariable+"="+server.URL+"/x?secret", RestoreSHA256Variable+"="+strings.Repeat("ab", 32)).
		want(t, exitRetry, "", "cannot restore the snapshot: cannot download it: Operation too slow")
	wantNothing(t, dir)
}

// What etcdutl 3.6 makes of a snapshot, with an increased revision, starts under
// etcd 3.5 as well; etcdutl 3.5 makes the same.
func TestRestoredByALaterEtcdutl(t *testing.T) {
	t.Parallel()
	file, sum, revision := backup(t, etcdtest.V35)
	for _, utl := range []etcdtest.Version{etcdtest.V35, etcdtest.V36, etcdtest.V37} {
		t.Run(string(utl), func(t *testing.T) {
			t.Parallel()
			sh := shells(t)[0]
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
