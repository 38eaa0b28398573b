// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package joinscript

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/joinscript/rules"
)

// The beginning of a log of etcd 3.6, and the member ID and the cluster ID in it.
var dataLog = []byte{
	4, 0, 0, 0, 0, 0, 0, 132, 8, 4, 16, 0, 0, 0, 0, 0,
	30, 0, 0, 0, 0, 0, 0, 130, 8, 1, 16, 217, 241, 204, 143, 8,
	26, 20, 8, 187, 226, 142, 236, 227, 194, 215, 129, 117, 16, 184, 138, 174,
	164, 218, 249, 229, 218, 29, 0, 0,
}

const (
	dataID      = "75035e163d83b13b"
	dataCluster = "1db597cda48b8538"
)

// Test that the script decides as the rules do.
func TestStarts(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, sh shell) {
		for i, s := range rules.Starts() {
			if sh.due(i) {
				t.Run(s.Name, func(t *testing.T) { sh.decides(t, s) })
			}
		}
	}, "static", "discovery")
}

// decides runs the script in a case of the rules.
func (sh shell) decides(t *testing.T, s rules.Start) {
	t.Helper()
	urls := startPeers(t, s)
	data := filepath.Join(t.TempDir(), "data")
	env := []string{"ETCD_DATA_DIR=" + data}
	mark := data + ".etcd-join--"
	if s.Initial {
		now := created
		if !s.Window {
			now += 4000
		}
		env = append(env, "ETCD_INITIAL_CLUSTER=us="+own, "ETCD_INITIAL_CLUSTER_TOKEN=T", window, at(now))
		mark = data + ".etcd-join-T-1800000000-1800003600"
	}
	var dirs []string
	if s.Mark {
		dirs = append(dirs, mark)
	}
	if s.Data != 0 {
		dirs = append(dirs, filepath.Join(data, "member", "wal"))
	}
	for _, dir := range dirs {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if s.Data != 0 {
		if err := os.WriteFile(filepath.Join(data, "member", "wal", "0.wal"), dataLog, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var peers []string
	for _, name := range s.Peers {
		peers = append(peers, urls[name])
	}
	r := ask(t, sh, s.Initial, peers, env...)
	_, err := os.Stat(filepath.Join(data, "removed-"+dataID))
	if want := map[rules.Decision]int{rules.Wait: exitRetry, rules.Never: exitNever}[s.Want]; r.code != want || !strings.Contains(r.stderr, s.Words) ||
		strings.Contains(r.stdout, "_STATE=existing") != (s.Want == rules.Join || s.Want == rules.SetAside) ||
		r.stdout != "" && r.code != 0 || (err == nil) != (s.Want == rules.SetAside) {
		t.Errorf("exit code %d, want to %s and %q\n%s%s", r.code, s.Want, s.Words, r.stdout, r.stderr)
	}
}

// startPeers starts the peers that answer in a case, and returns the URLs of all members.
func startPeers(t *testing.T, s rules.Start) map[string]string {
	t.Helper()
	urls := map[string]string{s.PeerURL: own}
	at := map[string]*peer{}
	for name := range s.Answers {
		at[name] = newPeer(t)
		urls[name] = at[name].url
	}
	urlOf := func(name string) string {
		if urls[name] == "" {
			urls[name] = fmt.Sprintf("http://127.0.0.1:%d", 2+len(urls))
		}
		return urls[name]
	}
	for _, name := range s.Peers {
		urlOf(name)
	}
	for name, answer := range s.Answers {
		var list []entry
		known := false
		for _, m := range answer.Members {
			e := entry{ID: m.ID, PeerURLs: []string{urlOf(m.PeerURL)}, IsLearner: m.Learner}
			if m.ID == 'c' {
				e.ID, known = 0x75035e163d83b13b, true
			}
			if m.Started {
				e.Name, e.ClientURLs = m.PeerURL, []string{"http://client"}
			}
			list = append(list, e)
		}
		at[name].handle(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case len(list) == 0:
				w.WriteHeader(http.StatusServiceUnavailable)
			case r.URL.Path == "/members":
				reply(w, dataCluster, list...)
			case known:
				w.WriteHeader(http.StatusPreconditionFailed)
			default:
				w.WriteHeader(http.StatusGone)
			}
		})
	}
	return urls
}
