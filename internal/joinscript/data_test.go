// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package joinscript

import (
	"os"
	"path/filepath"
	"testing"
)

// What is in the data directory decides before anybody is asked.
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
		// Whatever else: nothing is asked, nothing printed.
		asked := a.asked.Load()
		t.Run("a log", func(t *testing.T) {
			ask(t, sh, false, []string{a.url}, "ETCD_DATA_DIR="+dataDir(t, wal)).want(t, 0, "", "")
			ask(t, sh, true, []string{a.url}, "ETCD_DATA_DIR="+dataDir(t, wal)).want(t, 0, "", "")
			ask(t, sh, false, nil, "ETCD_DATA_DIR="+dataDir(t, wal)).want(t, 0, "", "")
		})
		t.Run("a log elsewhere", func(t *testing.T) {
			ask(t, sh, false, []string{a.url}, "ETCD_DATA_DIR="+dataDir(t), "ETCD_WAL_DIR="+dataDir(t, "1.wal")).want(t, 0, "", "")
		})
		if a.asked.Load() != asked {
			t.Error("with its data there, the script asked a peer all the same")
		}
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
			ask(t, sh, false, []string{a.url}, "ETCD_DATA_DIR="+dir).want(t, ExitRetry, "", "run this as the user that runs etcd")
		})
	})
}

// The environment, which is what etcd obeys, comes before what was known when
// the configuration was made; without it the script says what is missing.
func TestIdentityComesFromTheEnvironment(t *testing.T) {
	eachShell(t, func(t *testing.T, sh shell) {
		a := newPeer(t)
		other := "http://127.0.0.1:3"
		a.list(ran(11, "a", a.url), entry{ID: 20, PeerURLs: []string{other, "https://127.0.0.1:4"}, IsLearner: true})
		env := []string{"ETCD_NAME=them", "ETCD_INITIAL_ADVERTISE_PEER_URLS=HTTPS://127.0.0.1:4 , http://127.0.0.1:3"}
		ask(t, sh, false, []string{a.url}, env...).want(t, 0,
			joined("them", "HTTPS://127.0.0.1:4,http://127.0.0.1:3", "a="+a.url+",them=HTTPS://127.0.0.1:4,them=http://127.0.0.1:3"), "announced")
		ask(t, sh, false, nil, append(env, "ETCD_JOIN_PEERS=ftp://x:1 "+a.url+"/,,")...).want(t, 0,
			joined("them", "HTTPS://127.0.0.1:4,http://127.0.0.1:3", "a="+a.url+",them=HTTPS://127.0.0.1:4,them=http://127.0.0.1:3"), "announced")
		sh.run(t, Render(Params{Name: "x", Peers: []string{a.url}})).want(t, ExitRetry, "", "no peer URL of this member is known: set ETCD_INITIAL_ADVERTISE_PEER_URLS")
		sh.run(t, Render(Params{PeerURLs: []string{own}, Peers: []string{a.url}})).want(t, ExitRetry, "", "the member has no name: set ETCD_NAME")
	})
}

func TestWithoutCurl(t *testing.T) {
	for _, sh := range shells(t) {
		sh.run(t, "PATH=/nowhere\n"+Render(Params{Name: "us", PeerURLs: []string{own}})).want(t, ExitRetry, "", "curl is not installed, or not on PATH")
	}
}
