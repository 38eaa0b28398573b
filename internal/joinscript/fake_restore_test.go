// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package joinscript

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// firstLog is the name of the log that etcdutl creates.
const firstLog = "0000000000000000-0000000000000000.wal"

// fakeUtl simulates etcdutl as far as the script uses it, and records its calls.
const fakeUtl = `#!/bin/sh
echo "$@" >>"${0%/*}/calls"
case $2 in
status) echo '{"hash":1,"revision":7,"totalKey":3,"totalSize":9,"version":"3.6.0"}' ;;
restore)
	while [ $# -gt 0 ]; do
		case $1 in --data-dir) data=$2 ;; --wal-dir) wal=$2 ;; esac
		file=$1
		shift
	done
	mkdir -p "$data/member/snap" "$wal"
	cat "$file" >"$data/member/snap/db"
	echo log >"$wal/` + firstLog + `"
	;;
esac
`

// failing is an etcdutl whose restore fails.
func failing(says string) string {
	return "#!/bin/sh\n[ \"$2\" = restore ] || exit 1\necho '{\"level\":\"info\"}' >&2\necho '" + says + "' >&2\nexit 1\n"
}

// aSnapshot returns a file and its SHA-256.
func aSnapshot(t *testing.T) (file, sum string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "a snapshot.db")
	text := []byte("keys and values")
	put(t, file, string(text))
	digest := sha256.Sum256(text)
	return file, hex.EncodeToString(digest[:])
}

// isRestored reports whether the data directory belongs to a member.
func isRestored(t *testing.T, dir string) bool {
	t.Helper()
	_, err := os.Stat(filepath.Join(dir, "member/wal", firstLog))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if err != nil {
		return false
	}
	if db, err := os.ReadFile(filepath.Join(dir, "member/snap/db")); err != nil || string(db) != "keys and values" {
		t.Errorf("a log is there, and the data is %q, %v", db, err)
	}
	return true
}

// wantNothing expects that a data directory contains no data of a member and no
// traces of a restore.
func wantNothing(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && (!d.IsDir() || strings.Contains(path, "restore.tmp")) {
			t.Errorf("%s is left", path)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// Test that the data of an initial member is restored once. After any error,
// nothing is started and nothing remains.
func TestRestore(t *testing.T) {
	t.Parallel()
	file, sum := aSnapshot(t)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/good":
			_, _ = w.Write(text)
		case "/cut":
			w.Header().Set("Content-Length", fmt.Sprint(len(text)+1))
			_, _ = w.Write(text)
		case "/large":
			w.Header().Set("Content-Length", fmt.Sprint(20<<30))
			_ = http.NewResponseController(w).Flush()
		case "/elsewhere":
			http.Redirect(w, r, "/good", http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	const etcd = "#!/bin/sh\necho 'etcd Version: 3.6.16'\n"
	cases := []struct {
		name string
		utl  string // fakeUtl if empty
		etcd string // 3.6 if empty
		env  []string
		code int
		says string
	}{
		{name: "a path"},
		{name: "a URL", env: []string{RestoreVariable + "=" + server.URL + "/good?a=b&c={d}[1-3]%20\"\\"}},
		{name: "a larger revision", env: []string{RestoreBumpVariable + "=1000"}},
		{name: "a log elsewhere", env: []string{"ETCD_WAL_DIR="}},
		{name: "another file", env: []string{RestoreSHA256Variable + "=" + strings.Repeat("ab", 32)}, code: exitRetry, says: "its SHA-256 is " + sum + ", and should be abab"},
		{name: "no checksum", env: []string{RestoreSHA256Variable + "="}, code: exitRetry, says: "its SHA-256 is " + sum},
		{name: "no file", env: []string{RestoreVariable + "=/nowhere/x.db"}, code: exitRetry, says: "cannot copy it: "},
		{name: "a directory", env: []string{RestoreVariable + "=/tmp"}, code: exitRetry, says: "cannot copy it: "},
		{name: "not found", env: []string{RestoreVariable + "=" + server.URL + "/none?secret"}, code: exitRetry, says: "cannot download it: The requested URL returned error: 404"},
		{name: "broken off", env: []string{RestoreVariable + "=" + server.URL + "/cut?secret"}, code: exitRetry, says: "cannot download it: "},
		{name: "too large", env: []string{RestoreVariable + "=" + server.URL + "/large?secret"}, code: exitRetry, says: "cannot download it: Maximum file size exceeded"},
		{name: "redirected without TLS", env: []string{RestoreVariable + "=" + server.URL + "/elsewhere?secret"}, code: exitRetry, says: "cannot download it: "},
		{name: "nobody there", env: []string{RestoreVariable + "=" + dead + "/x?secret"}, code: exitRetry, says: "cannot download it: "},
		{name: "neither a URL nor a path", env: []string{RestoreVariable + "=ftp://x/secret"}, code: exitRetry, says: "cannot copy it: "},
		{name: "etcdutl fails", utl: failing("Error: snapshot missing hash but --skip-hash-check=false"), code: exitRetry, says: "etcdutl says: snapshot missing hash"},
		{name: "etcdutl before 3.5.10", utl: failing("Error: unknown flag: --bump-revision"), env: []string{RestoreBumpVariable + "=1000"}, code: exitRetry, says: "etcdutl says: unknown flag: --bump-revision"},
		{name: "etcdutl crashes", utl: failing("panic: no space left on device"), code: exitRetry, says: "etcdutl says: panic: no space left on device"},
		{name: "etcdutl is silent", utl: "#!/bin/sh\n", code: exitRetry, says: "etcdutl made another log"},
		{name: "a later version", etcd: "#!/bin/sh\necho 'etcd Version: 3.5.35'\n", code: exitRetry, says: "it is of etcd 3.6, and "},
		{name: "a much later etcd", etcd: "#!/bin/sh\necho 'etcd Version: 3.10.0'\n"},
		{name: "an older snapshot", utl: strings.Replace(fakeUtl, `,"version":"3.6.0"`, "", 1)},
	}
	each(t, func(t *testing.T, sh shell) {
		for i, c := range cases {
			if !sh.due(i) {
				continue
			}
			t.Run(c.name, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "deep", "data")
				programs := map[string]string{"etcdutl": fakeUtl, "etcd": etcd}
				if c.utl != "" {
					programs["etcdutl"] = c.utl
				}
				if c.etcd != "" {
					programs["etcd"] = c.etcd
				}
				bin := tools(t, programs)
				env := []string{
					"ETCD_INITIAL_CLUSTER=us=" + own, "ETCD_INITIAL_CLUSTER_TOKEN=T", window, at(created), "ETCD_DATA_DIR=" + dir, "ETCD_JOIN_BIN=" + bin,
					RestoreVariable + "=" + file, RestoreSHA256Variable + "=" + sum,
				}
				env = append(env, c.env...)
				elsewhere := ""
				if c.name == "a log elsewhere" {
					elsewhere = filepath.Join(t.TempDir(), "wal")
					env = append(env, "ETCD_WAL_DIR="+elsewhere)
				}
				first := ask(t, sh, true, nil, env...)
				if strings.Contains(first.stderr, "secret") && !strings.Contains(c.name, "neither") {
					t.Errorf("standard error has a part of the URL:\n%s", first.stderr)
				}
				if c.code != 0 {
					first.want(t, c.code, "", "cannot restore the snapshot: "+c.says)
					wantNothing(t, dir)
					if outside, _ := filepath.Glob(dir + ".*"); len(outside) > 0 {
						t.Errorf("%q tells that etcd was started", outside)
					}
					return
				}
				first.want(t, 0, "", "no peer answers")
				if elsewhere != "" {
					if err := os.Rename(elsewhere, filepath.Join(dir, "member/wal")); err != nil {
						t.Fatal(err)
					}
				}
				if !isRestored(t, dir) {
					t.Error("nothing is restored")
				}
				calls, err := os.ReadFile(filepath.Join(bin, "calls"))
				if err != nil {
					t.Fatal(err)
				}
				if bumped := strings.Contains(string(calls), "--bump-revision 1000 --mark-compacted"); bumped != (c.name == "a larger revision") {
					t.Errorf("etcdutl was called with\n%s", calls)
				}
				// The member has its data from now on.
				ask(t, sh, true, nil, append(env, "ETCD_WAL_DIR=")...).want(t, 0, "", "")
				if again, _ := os.ReadFile(filepath.Join(bin, "calls")); !bytes.Equal(again, calls) {
					t.Errorf("etcdutl was called again:\n%s", again)
				}
				// Without its data, it never starts again.
				wipe(t, dir)
				ask(t, sh, true, nil, env...).want(t, exitNever, "", "etcd was started here before")
			})
		}
	}, "restore")
}

// Test that what is restored is what was checked, and that a download ends at its
// limit also if the server does not tell the size.
func TestRestoredFileIsTheCheckedOne(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = http.NewResponseController(w).Flush() // without a Content-Length
		_, _ = w.Write(make([]byte, 8<<10))
	}))
	t.Cleanup(server.Close)
	each(t, func(t *testing.T, sh shell) {
		file, sum := aSnapshot(t)
		restore := func(url, sum string) (result, string) {
			dir := filepath.Join(t.TempDir(), "data")
			utl := strings.Replace(fakeUtl, "status) ", "status) echo other >'"+file+"'; ", 1)
			return ask(t, sh, true, nil, "ETCD_INITIAL_CLUSTER=us="+own, window, at(created), "ETCD_DATA_DIR="+dir,
				"ETCD_JOIN_BIN="+tools(t, map[string]string{"etcdutl": utl, "etcd": program}), RestoreVariable+"="+url, RestoreSHA256Variable+"="+sum), dir
		}
		r, dir := restore(file, sum)
		if r.want(t, 0, "", "no peer answers"); !isRestored(t, dir) {
			t.Error("nothing is restored")
		}
		sh.script.Text = strings.Replace(sh.script.Text, "download 33554432 ", "download 8 ", 1)
		digest := sha256.Sum256(make([]byte, 8<<10))
		r, dir = restore(server.URL, hex.EncodeToString(digest[:]))
		r.want(t, exitRetry, "", "cannot restore the snapshot: cannot download it: ")
		wantNothing(t, dir)
	}, "restore")
}

// Test that an initial member that finds the cluster formed joins it, and that
// a member without its log does not restore again.
func TestRestoreOnlyToFoundACluster(t *testing.T) {
	t.Parallel()
	file, sum := aSnapshot(t)
	each(t, func(t *testing.T, sh shell) {
		a := newPeer(t)
		nus := entry{ID: 20, Name: "us", PeerURLs: []string{own}}
		bin := tools(t, map[string]string{"etcdutl": fakeUtl, "etcd": program})
		dir := filepath.Join(t.TempDir(), "data")
		env := []string{
			"ETCD_INITIAL_CLUSTER=us=" + own + ",a=" + a.url, "ETCD_INITIAL_CLUSTER_TOKEN=T", "ETCD_DATA_DIR=" + dir, "ETCD_JOIN_BIN=" + bin,
			RestoreVariable + "=" + file, RestoreSHA256Variable + "=" + sum,
		}
		half := func() {
			put(t, filepath.Join(dir, "member/snap/db"), "half")
			put(t, filepath.Join(dir, "member/restore.tmp/data/x"), "half")
		}
		// The remains of an interrupted restore do not count as data of a new member.
		half()
		if err := os.MkdirAll(filepath.Join(dir, "member/wal/etcd-join-T-"), 0o700); err != nil {
			t.Fatal(err)
		}
		a.list(ran(11, "a", a.url), nus)
		ask(t, sh, true, nil, env...).want(t, 0, joined("us", own, "member-11="+a.url+",us="+own), "added to the cluster: starting")
		wantNothing(t, dir)
		// They may be its data if the disk of the log is not mounted.
		wipe(t, dir)
		half()
		ask(t, sh, true, nil, env...).want(t, exitRetry, "", dir+"/member/restore.tmp tells of a restore, and "+dir+"/member/wal is not the directory of its log: mount its disk")
		if _, err := os.Stat(filepath.Join(dir, "member/snap/db")); err != nil {
			t.Error(err)
		}
		// The first member loses only the disk of its log: its data stays.
		dir2 := filepath.Join(t.TempDir(), "data")
		wal := filepath.Join(t.TempDir(), "wal")
		alone := []string{"ETCD_INITIAL_CLUSTER=us=" + own + ",x=" + dead, "ETCD_DATA_DIR=" + dir2, "ETCD_WAL_DIR=" + wal, window, at(created)}
		ask(t, sh, true, nil, append(env, alone...)...).want(t, 0, "", "no peer answers")
		wipe(t, wal)
		ask(t, sh, true, nil, append(env, alone...)...).want(t, exitRetry, "", "etcd was started here before, and its data is gone")
		// So does any other member whose peers do not tell.
		a.list(entry{ID: 11, Name: "a", PeerURLs: []string{a.url}}, nus)
		ask(t, sh, true, nil, append(env, "ETCD_DATA_DIR="+dir2, "ETCD_WAL_DIR="+wal)...).want(t, exitRetry, "",
			"cannot restore the snapshot: "+dir2+"/member/snap exists, and "+wal+" has no log")
		if _, err := os.Stat(filepath.Join(dir2, "member/snap/db")); err != nil {
			t.Error(err)
		}
	}, "restore")
}

// killer kills all processes of the script directly before or after its nth
// call of one of these programs. Only these programs change the disk.
const killer = `#!/bin/sh
calls=0
[ ! -e "$TEST_CALLS" ] || read -r calls <"$TEST_CALLS"
calls=$((calls + 1))
echo "$calls" >"$TEST_CALLS"
case $0 in */etcdutl) program=$0.real ;; */sync) program=: ;; *) program=${0##*/} PATH=${PATH#*:} ;; esac
[ "$calls" != "$TEST_BEFORE" ] || kill -9 0
"$program" "$@"
code=$?
[ "$calls" != "$TEST_AFTER" ] || kill -9 0
exit "$code"
`

// Test that after an interruption no member starts on a partial restore, and
// that the next run of the script completes it. (Every second call; with
// ETCD_TEST_FULL=1 every call, before and after it.)
func TestRestoreKilledAtEveryCall(t *testing.T) {
	t.Parallel()
	file, sum := aSnapshot(t)
	each(t, func(t *testing.T, sh shell) {
		programs := maps.Clone(hurried)
		callers := []string{"mkdir", "rm", "mv", "sync", "cat"}
		if etcdtest.Full() {
			callers = append(callers, "chown", "ls", "sha256sum") // which change nothing
		}
		for _, name := range callers {
			programs[name] = killer
		}
		path := tools(t, programs)
		bin := tools(t, map[string]string{"etcdutl": killer, "etcdutl.real": fakeUtl, "etcd": program})
		run := func(dir string, env ...string) (killed bool, code int, stderr string) {
			_ = os.Remove(filepath.Join(path, "looks"))
			cmd := sh.command(t, []string{path}, append([]string{
				"TEST_CALLS=" + filepath.Join(t.TempDir(), "calls"), at(created), patience, window, "ETCD_NAME=us", "ETCD_INITIAL_ADVERTISE_PEER_URLS=" + own,
				"ETCD_INITIAL_CLUSTER_STATE=new", "ETCD_INITIAL_CLUSTER=us=" + own, "ETCD_INITIAL_CLUSTER_TOKEN=T", "ETCD_DATA_DIR=" + dir, "ETCD_JOIN_BIN=" + bin,
				RestoreVariable + "=" + file, RestoreSHA256Variable + "=" + sum,
			}, env...))
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			var said bytes.Buffer
			cmd.Stderr = &said
			_ = cmd.Run()
			status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
			return ok && status.Signaled(), cmd.ProcessState.ExitCode(), said.String()
		}
		moments, step := []string{"TEST_BEFORE"}, 2
		if etcdtest.Full() {
			moments, step = append(moments, "TEST_AFTER"), 1
		}
		for _, when := range moments {
			n := 1
			for ; ; n += step {
				dir := filepath.Join(t.TempDir(), "data")
				killed, code, said := run(dir, fmt.Sprintf("%s=%d", when, n))
				before := isRestored(t, dir)
				if !killed {
					if code != 0 || !before {
						t.Fatalf("%s=%d: exit code %d\n%s", when, n, code, said)
					}
					break
				}
				if _, code, said := run(dir); code != 0 || !isRestored(t, dir) {
					t.Errorf("%s=%d: the next run ends with %d\n%s", when, n, code, said)
				}
				for _, pattern := range []string{"member/restore.tmp", "member/wal/[^0]*"} {
					if left, _ := filepath.Glob(filepath.Join(dir, pattern)); len(left) > 0 {
						t.Errorf("%s=%d: %q is left", when, n, left)
					}
				}
				if n%5 != 0 && !etcdtest.Full() {
					continue
				}
				wipe(t, dir)
				if _, code, said := run(dir); code != exitNever || isRestored(t, dir) {
					t.Errorf("%s=%d: a wiped member ends with %d\n%s", when, n, code, said)
				}
			}
			if n < 12 {
				t.Errorf("%s: the script was killed at %d calls only", when, n-1)
			}
		}
	}, "restore")
}
