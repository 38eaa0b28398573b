// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package joinscript

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// Test that a member restarts only if its log exists.
func TestDataDirectory(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, sh shell) {
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
		waits := func(t *testing.T, env ...string) {
			t.Helper()
			ask(t, sh, false, []string{a.url}, env...).want(t, exitRetry, "", "has run before")
		}
		t.Run("not there", func(t *testing.T) { waits(t, "ETCD_DATA_DIR="+dataDir(t)) })
		t.Run("left by a start that failed", func(t *testing.T) {
			waits(t, "ETCD_DATA_DIR="+dataDir(t, "member/snap/db", "member/wal/0.tmp", "member/wal.tmp/0.wal"))
		})
		t.Run("a log elsewhere that is empty", func(t *testing.T) {
			waits(t, "ETCD_DATA_DIR="+dataDir(t, wal), "ETCD_WAL_DIR="+dataDir(t, "x"))
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
				t.Skip("root may read every directory")
			}
			dir := dataDir(t, wal)
			if err := os.Chmod(filepath.Join(dir, "member"), 0); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, "member"), 0o700) })
			ask(t, sh, false, []string{a.url}, "ETCD_DATA_DIR="+dir).want(t, exitRetry, "", "run this as the user of etcd")
		})
	}, "static", "discovery")
}

func TestIncompleteEnvironment(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, sh shell) {
		a := newPeer(t)
		other := "http://127.0.0.1:3"
		a.list(ran(11, "a", a.url), entry{ID: 20, PeerURLs: []string{other, "https://127.0.0.1:4"}, IsLearner: true})
		env := []string{"ETCD_NAME=them", "ETCD_INITIAL_ADVERTISE_PEER_URLS=HTTPS://127.0.0.1:4 , http://127.0.0.1:3"}
		ask(t, sh, false, nil, append(env, "ETCD_JOIN_PEERS=ftp://x:1 "+a.url+"/,,")...).want(t, 0,
			joined("them", "HTTPS://127.0.0.1:4,http://127.0.0.1:3", "member-11="+a.url+",them=HTTPS://127.0.0.1:4,them=http://127.0.0.1:3"), "added to the cluster: starting")
		sh.run(t, "ETCD_NAME=x", "ETCD_JOIN_PEERS="+a.url).want(t, exitRetry, "", "ETCD_INITIAL_ADVERTISE_PEER_URLS is not set")
		sh.run(t, "ETCD_INITIAL_ADVERTISE_PEER_URLS="+own, "ETCD_JOIN_PEERS="+a.url).want(t, exitRetry, "", "ETCD_NAME is not set")
		sh.run(t).want(t, exitRetry, "", "ETCD_NAME is not set")
	}, "static", "discovery")
}

func TestWithoutCurl(t *testing.T) {
	t.Parallel()
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
	each(t, func(t *testing.T, sh shell) {
		ask(t, sh, false, []string{dead}, "PATH="+dir).want(t, exitRetry, "", "curl is not on PATH")
		data := filepath.Join(t.TempDir(), "data")
		if err := os.MkdirAll(filepath.Join(data, "member/wal"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(data, "member/wal/0.wal"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		ask(t, sh, false, []string{dead}, "PATH="+dir, "ETCD_DATA_DIR="+data).want(t, 0, "", "")
	}, "discovery")
}

// Test that lists alone do not prevent a member with data from starting: after
// a power failure of all members, they may be as old as the last snapshot. A
// member ends if its own cluster rejects its ID as removed.
func TestOldListsKeepNobodyFromStarting(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, sh shell) {
		dir := filepath.Join(t.TempDir(), "data")
		if err := os.MkdirAll(filepath.Join(dir, "member/wal"), 0o700); err != nil {
			t.Fatal(err)
		}
		a, b := newPeer(t), newPeer(t)
		ea, eb := ran(11, "a", a.url), ran(12, "b", b.url)
		members := []entry{ea, eb}
		gone := http.StatusGone
		for _, p := range []*peer{a, b} {
			p.handle(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Path == "/members":
					reply(w, dataCluster, members...)
				case r.URL.Path != "/raft/stream/message/"+dataID || r.Header.Get("X-Etcd-Cluster-Id") != dataCluster || r.Header.Get("X-Server-Version") == "":
					w.WriteHeader(http.StatusPreconditionFailed)
				default:
					w.WriteHeader(gone)
				}
			})
		}
		for i, c := range []struct {
			name    string
			log     []byte
			members []entry
			answer  int
			code    int
			reason  string
		}{
			{"removed", dataLog, []entry{ea, eb}, http.StatusGone, exitRetry, "was removed from the cluster"},
			{"removed, and another was added", dataLog, []entry{ea, eb, ran(13, "c", dead)}, http.StatusGone, exitRetry, "was removed from the cluster"},
			{"not known yet", dataLog, []entry{ea, eb}, http.StatusNotFound, 0, ""},
			{"known there, and not listed yet", dataLog, []entry{ea, eb}, http.StatusPreconditionFailed, 0, ""},
			{"another has its name", dataLog, []entry{ea, eb, ran(13, "us", dead)}, http.StatusGone, exitRetry, "was removed from the cluster"},
			{"another has its URL, and has run", dataLog, []entry{ea, eb, ran(13, "us", own)}, http.StatusGone, exitRetry, "was removed from the cluster"},
			{"a voter with its URL has not run", dataLog, []entry{ea, eb, {ID: 13, PeerURLs: []string{own}}}, http.StatusGone, exitRetry, "was removed from the cluster"},
			{"a learner with its URL has not run, and its own ID is not removed", dataLog, []entry{ea, eb, {ID: 13, PeerURLs: []string{own}, IsLearner: true}}, http.StatusNotFound, 0, ""},
			{"one list has its ID", dataLog, []entry{ea, eb, ran(8431686376982032699, "us", own)}, http.StatusGone, 0, ""},
			{"most of the others are away", dataLog, []entry{ea, eb, ran(13, "c", dead), ran(14, "d", "http://127.0.0.1:3")}, http.StatusGone, 0, ""},
			{"a log of another cluster", append(slices.Clone(dataLog[:53]), 30, 0, 0), []entry{ea, eb}, http.StatusGone, 0, ""},
			{"a log of another member", append(append(slices.Clone(dataLog[:35]), 188), dataLog[36:]...), []entry{ea, eb}, http.StatusGone, 0, ""},
			{"an empty log", nil, []entry{ea, eb}, http.StatusGone, 0, ""},
			{"a log that is none", bytes.Repeat([]byte{255}, 600), []entry{ea, eb}, http.StatusGone, 0, ""},
		} {
			if !sh.due(i) {
				continue
			}
			t.Run(c.name, func(t *testing.T) {
				members, gone = c.members, c.answer
				if err := os.WriteFile(filepath.Join(dir, "member/wal/0.wal"), c.log, 0o600); err != nil {
					t.Fatal(err)
				}
				ask(t, sh, false, []string{a.url, b.url}, "ETCD_DATA_DIR="+dir).want(t, c.code, "", c.reason)
			})
		}
		for _, elsewhere := range []bool{false, true} {
			t.Run(fmt.Sprint("a learner with its URL has not run, the log is elsewhere: ", elsewhere), func(t *testing.T) {
				members, gone = []entry{ea, eb, {ID: 13, PeerURLs: []string{own}, IsLearner: true}}, http.StatusGone
				dir, want := t.TempDir(), "removed-"+dataID+"/wal/0.wal"
				log := tools(t, map[string]string{"0.wal": string(dataLog)})
				if err := os.Mkdir(filepath.Join(dir, "member"), 0o700); err != nil {
					t.Fatal(err)
				}
				wal := log
				if !elsewhere {
					if wal = filepath.Join(dir, "member/wal"); os.Rename(log, wal) != nil {
						t.Fatal("no log")
					}
				}
				ask(t, sh, false, []string{a.url, b.url}, "ETCD_DATA_DIR="+dir, "ETCD_WAL_DIR="+wal).
					want(t, 0, joined("us", own, "member-11="+a.url+",member-12="+b.url+",us="+own), "added to the cluster: starting")
				if _, err := os.Stat(filepath.Join(dir, want)); err != nil {
					t.Error(err)
				}
				if _, err := os.Stat(filepath.Join(wal, "0.wal")); err == nil {
					t.Error("the log is still there")
				}
			})
		}
		t.Run("a peer names others that say so", func(t *testing.T) {
			members, gone = []entry{ea, eb}, http.StatusGone
			if err := os.WriteFile(filepath.Join(dir, "member/wal/0.wal"), dataLog, 0o600); err != nil {
				t.Fatal(err)
			}
			ask(t, sh, false, []string{a.url, dead}, "ETCD_DATA_DIR="+dir).want(t, 0, "", "")
		})
	}, "static", "discovery")
}
