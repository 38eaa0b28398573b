// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package joinscript

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/joinscript/rules"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
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
				t.Run(s.Name, func(t *testing.T) { newScene(t, sh, nil, "", rowOf(s.Line)).play() })
			}
		}
	}, "static", "discovery")
}

// randomStates is how many states the script and the rules are compared in.
const randomStates = 250

// Test that the script decides as the rules do in random states, the same ones in each
// run. A state is printed as a line of starts.txt.
func TestRandomStates(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, sh shell) {
		random := rand.New(rand.NewPCG(1, 2))
		made := map[rules.Decision]int{}
		for i := range randomStates {
			r := randomState(random)
			made[r.Want]++
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				newScene(t, sh, nil, "", r).play()
			})
		}
		t.Log(made)
		for _, d := range []rules.Decision{
			rules.Wait, rules.Never, rules.Resume, rules.Force, rules.Found, rules.Join, rules.SetAside,
		} {
			if made[d] < randomStates/100 {
				t.Errorf("only %d states to %s", made[d], d)
			}
		}
	}, "static")
}

// randomState returns a case whose name is its line of starts.txt, and in which the script
// has more than two rounds: peers name others. Most peers give the list of one cluster, and
// some one that differs in a member.
func randomState(random *rand.Rand) row {
	one := func(of ...string) string { return of[random.IntN(len(of))] }
	names := strings.Split("a b d e f", " ")[:1+random.IntN(5)]
	member := func(name string) string {
		return one(name+"!", name+"!", name+"!", name+"!", name+"!", name+"!", name, "("+name+"!)", "")
	}
	formed, silent := random.IntN(4) > 0, random.IntN(8) == 0
	var truth []string
	for _, name := range names {
		if !formed {
			truth = append(truth, name)
		} else if word := member(name); word != "" {
			truth = append(truth, word)
		}
	}
	truth = append(truth, one("c", "c", "c!", "(c)", "(c)", "(c2)", "(c2)", "(c2)", "c2", "c2!", ""))
	if len(names) > 1 {
		truth = append(truth, one("", "", "", "c=d!", "c=x!", "a=c!"))
	}
	machine := one("", "", "data", "data", "data", "copy", "copy renamed", "data renamed", "data initial window",
		"initial", "initial", "initial window", "initial window") +
		one("", "", "", "", " mark") + one("", "", "", "", "", "", "", " force", " force", " forced", " file") +
		" peers="
	var answers []string
	for _, name := range names {
		if random.IntN(3) > 0 {
			machine += name + " "
		}
		list := slices.Clone(truth)
		switch random.IntN(16) {
		case 0:
			list[random.IntN(len(list))] = one("g!", "")
			list[len(list)-1] = one(list[len(list)-1], "c", "c!", "(c)", "(c2)")
		case 1:
			list = []string{"-"}
		case 2:
			continue
		case 3:
			list = append(list, one("", "", "", "@2"))
		}
		if !silent {
			answers = append(answers, name+": "+strings.Join(list, " "))
		}
	}
	// Who answers at the URL of this machine is a copy of it, or what it is a copy of.
	if data := strings.Contains(machine, "data") || strings.Contains(machine, "copy"); !data {
		machine = strings.Replace(machine, " forced", " force", 1) // the data has the mark
	} else if random.IntN(6) == 0 {
		answers = append(answers, "c: "+strings.Join(truth, " "))
	}
	name := machine + " | " + strings.Join(answers, "; ")
	s := rules.Parse("|" + name)
	// Who is neither known nor named is not asked.
	told := append(slices.Clone(s.Peers), "c")
	for _, peer := range s.Peers {
		for _, m := range s.Answers[peer].Members {
			told = append(told, m.PeerURL)
		}
	}
	maps.DeleteFunc(s.Answers, func(url string, _ rules.Answer) bool { return !slices.Contains(told, url) })
	_, s.Before = s.Decide()
	step := "20"
	if s.Force {
		step = "5" // the five rounds before a forced start
	}
	r := rowOf("|TEST_STEP=" + step + " " + name)
	r.Name = name
	r.Want, _ = s.Decide()
	return r
}

// firstLog is the name of the log that etcdutl creates.
const firstLog = "0000000000000000-0000000000000000.wal"

// fakeUtl simulates etcdutl as far as the script uses it, and marks what it was asked for.
var fakeUtl = program("etcdutl")

// failing is an etcdutl whose restore fails.
func failing(says string) string {
	return "#!/bin/sh\n[ \"$2\" = restore ] || exit 1\necho '{\"level\":\"info\"}' >&2\necho '" + says + "' >&2\nexit 1\n"
}

// snapshot stands for one.
const snapshot = "keys and values"

var snapshotSum = fmt.Sprintf("%x", sha256.Sum256([]byte(snapshot)))

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
	if db, err := os.ReadFile(filepath.Join(dir, "member/snap/db")); err != nil || string(db) != snapshot {
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

// snapshots serves a snapshot, and what is none. It returns its URL.
func snapshots(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/good":
			_, _ = io.WriteString(w, snapshot)
		case "/cut":
			w.Header().Set("Content-Length", fmt.Sprint(len(snapshot)+1))
			_, _ = io.WriteString(w, snapshot)
		case "/large":
			w.Header().Set("Content-Length", fmt.Sprint(20<<30))
			_ = http.NewResponseController(w).Flush()
		case "/endless": // without a Content-Length
			_ = http.NewResponseController(w).Flush()
			_, _ = w.Write(make([]byte, 8<<10))
		case "/elsewhere":
			http.Redirect(w, r, "/good", http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// killer kills all processes of the script directly before or after its nth
// call of one of these programs. Only these programs change the disk.
var killer = program("killer")

// Test that after an interruption no member starts on a partial restore, and
// that the next run of the script completes it. (Every second call; with
// ETCD_TEST_FULL=1 every call, before and after it.)
func TestRestoreKilledAtEveryCall(t *testing.T) {
	t.Parallel()
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
		s := newScene(t, sh, nil, "", rowOf("|initial window restore peers="))
		s.prepare(s.rows[0])
		s.env["ETCD_JOIN_BIN"] = tools(t, map[string]string{"etcdutl": killer, "etcdutl.real": fakeUtl, "etcd": fakeEtcd("3.6.0")})
		run := func(dir string, env ...string) (killed bool, code int, stderr string) {
			_ = os.Remove(filepath.Join(path, "looks"))
			cmd := sh.command(t, []string{path}, slices.Concat(s.environment(), []string{"ETCD_DATA_DIR=" + dir, "TEST_CALLS=" + filepath.Join(t.TempDir(), "calls")}, env))
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
