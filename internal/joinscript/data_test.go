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

// Test that only a log makes a directory the data of a member, which starts.
func TestDataDirectory(t *testing.T) {
	t.Parallel()
	const log = "member/wal/0000000000000000-0000000000000000.wal"
	cases := []struct {
		name            string
		data, elsewhere []string
		starts          bool
	}{
		{name: "not there"},
		{name: "left by a start that failed", data: []string{"member/snap/db", "member/wal/0.tmp", "member/wal.tmp/0.wal"}},
		{name: "a log elsewhere that is empty", data: []string{log}, elsewhere: []string{"x"}},
		{name: "a log", data: []string{log}, starts: true},
		{name: "a log elsewhere", elsewhere: []string{"1.wal"}, starts: true},
	}
	each(t, func(t *testing.T, sh shell) {
		a := newPeer(t)
		a.list(ran(11, "a", a.url), ran(20, "us", own))
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				dir, wal := filepath.Join(t.TempDir(), "the data"), t.TempDir()
				env := []string{"ETCD_DATA_DIR=" + dir}
				for _, name := range c.data {
					put(t, filepath.Join(dir, name), "")
				}
				for _, name := range c.elsewhere {
					put(t, filepath.Join(wal, name), "")
					env = append(env, "ETCD_WAL_DIR="+wal)
				}
				r := ask(t, sh, false, []string{a.url}, env...)
				if !c.starts {
					r.want(t, exitRetry, "", "has run before")
					return
				}
				r.want(t, 0, "", "")
				sh.run(t, env...).want(t, 0, "", "") // with an environment that says nothing
			})
		}
		t.Run("not to be read", func(t *testing.T) {
			if os.Geteuid() == 0 {
				t.Skip("root may read every directory")
			}
			dir := filepath.Join(t.TempDir(), "data")
			put(t, filepath.Join(dir, log), "")
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
		put(t, filepath.Join(data, "member/wal/0.wal"), "")
		ask(t, sh, false, []string{dead}, "PATH="+dir, "ETCD_DATA_DIR="+data).want(t, 0, "", "")
	}, "discovery")
}

// Test that lists alone do not prevent a member with data from starting: after
// a power failure of all members, they may be as old as the last snapshot. A
// member ends if its own cluster rejects its ID as removed. The rules know the lists, and
// take a rejection for granted.
func TestOldListsKeepNobodyFromStarting(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, sh shell) {
		a, b := newPeer(t), newPeer(t)
		ea, eb := ran(11, "a", a.url), ran(12, "b", b.url)
		added := entry{ID: 13, PeerURLs: []string{own}, IsLearner: true}
		serve := func(answer int, members ...entry) {
			for _, p := range []*peer{a, b} {
				p.handle(func(w http.ResponseWriter, r *http.Request) {
					switch {
					case r.URL.Path == "/members":
						reply(w, dataCluster, members...)
					case r.URL.Path != "/raft/stream/message/"+dataID || r.Header.Get("X-Etcd-Cluster-Id") != dataCluster || r.Header.Get("X-Server-Version") == "":
						w.WriteHeader(http.StatusPreconditionFailed)
					default:
						w.WriteHeader(answer)
					}
				})
			}
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
			{"not known yet", dataLog, []entry{ea, eb}, http.StatusNotFound, 0, ""},
			{"known there, and not listed yet", dataLog, []entry{ea, eb}, http.StatusPreconditionFailed, 0, ""},
			{"a learner with its URL has not run, and its own ID is not removed", dataLog, []entry{ea, eb, added}, http.StatusNotFound, 0, ""},
			{"a log of another cluster", append(slices.Clone(dataLog[:53]), 30, 0, 0), []entry{ea, eb}, http.StatusGone, 0, ""},
			{"a log of another member", append(append(slices.Clone(dataLog[:35]), 188), dataLog[36:]...), []entry{ea, eb}, http.StatusGone, 0, ""},
			{"an empty log", nil, []entry{ea, eb}, http.StatusGone, 0, ""},
			{"a log that is none", bytes.Repeat([]byte{255}, 600), []entry{ea, eb}, http.StatusGone, 0, ""},
		} {
			if !sh.due(i) {
				continue
			}
			t.Run(c.name, func(t *testing.T) {
				serve(c.answer, c.members...)
				dir := filepath.Join(t.TempDir(), "data")
				put(t, filepath.Join(dir, "member/wal/0.wal"), string(c.log))
				ask(t, sh, false, []string{a.url, b.url}, "ETCD_DATA_DIR="+dir).want(t, c.code, "", c.reason)
			})
		}
		for _, elsewhere := range []bool{false, true} {
			t.Run(fmt.Sprint("the old data is set aside, the log is elsewhere: ", elsewhere), func(t *testing.T) {
				serve(http.StatusGone, ea, eb, added)
				dir := t.TempDir()
				wal := filepath.Join(dir, "member/wal")
				put(t, filepath.Join(dir, "member/snap/db"), "")
				if elsewhere {
					wal = t.TempDir()
				}
				put(t, filepath.Join(wal, "0.wal"), string(dataLog))
				ask(t, sh, false, []string{a.url, b.url}, "ETCD_DATA_DIR="+dir, "ETCD_WAL_DIR="+wal).
					want(t, 0, joined("us", own, "member-11="+a.url+",member-12="+b.url+",us="+own), "added to the cluster: starting")
				for file, want := range map[string]bool{filepath.Join(dir, "removed-"+dataID, "wal/0.wal"): true, filepath.Join(wal, "0.wal"): false} {
					if _, err := os.Stat(file); (err == nil) != want {
						t.Errorf("%s: %v", file, err)
					}
				}
			})
		}
	}, "static", "discovery")
}
