// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package joinscript

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A member starts again only if its log is there.
func TestDataDirectory(t *testing.T) {
	eachShell(t, func(t *testing.T, sh shell) {
		a := newPeer(t)
		a.list(ran(11, "a", a.url), ran(20, "us", own))
		dataDir := func(t *testing.T, files ...string) string {
			t.Helper()
			dir := filepath.Join(t.TempDir(), "the data")
			for _, file := range files {
				file = filepath.Join(dir, file)
				if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			return dir
		}
		const wal = "member/wal/0000000000000000-0000000000000000.wal"
		never := func(t *testing.T, env ...string) {
			t.Helper()
			ask(t, sh, false, []string{a.url}, env...).want(t, ExitNever, "", "has run before")
		}
		t.Run("not there", func(t *testing.T) { never(t, "ETCD_DATA_DIR="+dataDir(t)) })
		t.Run("left by a start that failed", func(t *testing.T) {
			never(t, "ETCD_DATA_DIR="+dataDir(t, "member/snap/db", "member/wal/0.tmp", "member/wal.tmp/0.wal"))
		})
		t.Run("a log elsewhere that is empty", func(t *testing.T) {
			never(t, "ETCD_DATA_DIR="+dataDir(t, wal), "ETCD_WAL_DIR="+dataDir(t, "x"))
		})
		t.Run("a log", func(t *testing.T) {
			ask(t, sh, false, []string{a.url}, "ETCD_DATA_DIR="+dataDir(t, wal)).want(t, 0, "", "")
			ask(t, sh, true, []string{a.url}, "ETCD_DATA_DIR="+dataDir(t, wal)).want(t, 0, "", "")
			ask(t, sh, false, nil, "ETCD_DATA_DIR="+dataDir(t, wal)).want(t, 0, "", "")
		})
		t.Run("a log, and an environment that says nothing", func(t *testing.T) {
			sh.run(t, "ETCD_DATA_DIR="+dataDir(t, wal)).want(t, 0, "", "")
		})
		t.Run("a log elsewhere", func(t *testing.T) {
			ask(t, sh, false, []string{a.url}, "ETCD_DATA_DIR="+dataDir(t), "ETCD_WAL_DIR="+dataDir(t, "1.wal")).want(t, 0, "", "")
		})
		t.Run("not to be read", func(t *testing.T) {
			if os.Geteuid() == 0 {
				t.Log("LEFT OUT: a data directory that may not be read: root may read it")
				return
			}
			dir := dataDir(t, wal)
			if err := os.Chmod(filepath.Join(dir, "member"), 0); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, "member"), 0o700) })
			ask(t, sh, false, []string{a.url}, "ETCD_DATA_DIR="+dir).want(t, ExitRetry, "", "run this as the user of etcd")
		})
	})
}

func TestIncompleteEnvironment(t *testing.T) {
	eachShell(t, func(t *testing.T, sh shell) {
		a := newPeer(t)
		other := "http://127.0.0.1:3"
		a.list(ran(11, "a", a.url), entry{ID: 20, PeerURLs: []string{other, "https://127.0.0.1:4"}, IsLearner: true})
		env := []string{"ETCD_NAME=them", "ETCD_INITIAL_ADVERTISE_PEER_URLS=HTTPS://127.0.0.1:4 , http://127.0.0.1:3"}
		ask(t, sh, false, nil, append(env, "ETCD_JOIN_PEERS=ftp://x:1 "+a.url+"/,,")...).want(t, 0,
			joined("them", "HTTPS://127.0.0.1:4,http://127.0.0.1:3", "a="+a.url+",them=HTTPS://127.0.0.1:4,them=http://127.0.0.1:3"), "announced")
		sh.run(t, "ETCD_NAME=x", "ETCD_JOIN_PEERS="+a.url).want(t, ExitRetry, "", "ETCD_INITIAL_ADVERTISE_PEER_URLS is not set")
		sh.run(t, "ETCD_INITIAL_ADVERTISE_PEER_URLS="+own, "ETCD_JOIN_PEERS="+a.url).want(t, ExitRetry, "", "ETCD_NAME is not set")
		sh.run(t).want(t, ExitRetry, "", "ETCD_NAME is not set")
	})
}

func TestWithoutCurl(t *testing.T) {
	dir := tools(t, nil)
	for _, tool := range []string{"dirname", "awk", "sed", "sort", "tr", "date", "sh"} {
		path, err := exec.LookPath(tool)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(dir, tool)); err != nil {
			t.Fatal(err)
		}
	}
	for _, sh := range shells(t) {
		ask(t, sh, false, []string{dead}, "PATH="+dir).want(t, ExitRetry, "", "curl is not on PATH")
		data := filepath.Join(t.TempDir(), "data")
		if err := os.MkdirAll(filepath.Join(data, "member/wal"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(data, "member/wal/0.wal"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		ask(t, sh, false, []string{dead}, "PATH="+dir, "ETCD_DATA_DIR="+data).want(t, 0, "", "")
	}
}
