// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package joinscript

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// program simulates etcd as far as the script uses it.
const program = "#!/bin/sh\ncase ${1:-} in --version) echo 'etcd Version: 3.6.0' ;; *) echo \"$ETCD_NAME, $ETCD_INITIAL_CLUSTER_STATE\" ;; esac\n"

// archive returns a release with some programs, and its SHA-256.
func archive(t *testing.T, programs map[string]string) (text []byte, sum string) {
	t.Helper()
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	tape := tar.NewWriter(zipped)
	for name, content := range programs {
		if err := tape.WriteHeader(&tar.Header{Name: "etcd-v3.6.0-linux-amd64/" + name, Mode: 0o644, Size: int64(len(content)), Uid: 4711, Gid: 4711}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(tape, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := tape.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	digest := sha256.Sum256(b.Bytes())
	return b.Bytes(), hex.EncodeToString(digest[:])
}

// machine returns the name of this machine's architecture in the names of archives.
func machine(t *testing.T) string {
	t.Helper()
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("the archives of the test are for amd64 and arm64")
	}
	return runtime.GOARCH
}

// sums returns the SHA256SUMS of a release, in which the archive of this machine has
// the given sum and each other one another.
func sums(t *testing.T, sum string) string {
	t.Helper()
	other := strings.Repeat("ab", 32)
	of := map[string]string{"amd64": other, "arm64": other}
	of[machine(t)] = sum
	return other + "  etcd-v3.6.0-darwin-amd64.zip\n" + of["amd64"] + "  etcd-v3.6.0-linux-amd64.tar.gz\n" + of["arm64"] + "  etcd-v3.6.0-linux-arm64.tar.gz\n" +
		other + "  etcd-v3.6.0-linux-ppc64le.tar.gz\n" + other + "  etcd-v3.6.0-linux-s390x.tar.gz\n"
}

// calls runs the script with an argument.
func (sh shell) calls(t *testing.T, argument string, env ...string) (output string, code int) {
	t.Helper()
	cmd := sh.command(t, nil, env, argument)
	out, _ := cmd.CombinedOutput()
	return string(out), cmd.ProcessState.ExitCode()
}

// Test that programs of a release get their names only after all were unpacked,
// verified and tried. An empty program, as after a power failure, does not count.
func TestInstall(t *testing.T) {
	t.Parallel()
	pki := etcdtest.NewPKI(t)
	good, sum := archive(t, map[string]string{"etcd": program, "etcdctl": "ctl", "etcdutl": "utl", "README.md": "read me"})
	old, oldSum := archive(t, map[string]string{"etcd": program, "etcdctl": "ctl"})
	broken, brokenSum := archive(t, map[string]string{"etcd": "#!/bin/sh\nexit 1\n", "etcdctl": "ctl"})
	server := pki.WebServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/good":
			_, _ = w.Write(good)
		case "/old":
			_, _ = w.Write(old)
		case "/broken":
			_, _ = w.Write(broken)
		case "/v3.6.0/etcd-v3.6.0-linux-" + machine(t) + ".tar.gz":
			_, _ = w.Write(good)
		case "/v3.6.0/SHA256SUMS":
			_, _ = io.WriteString(w, sums(t, sum))
		case "/v3.6.1/etcd-v3.6.1-linux-" + machine(t) + ".tar.gz":
			_, _ = w.Write(good)
		case "/v3.6.1/SHA256SUMS": // it lacks the archive
			_, _ = io.WriteString(w, sums(t, sum))
		case "/v3.6.2/etcd-v3.6.2-linux-" + machine(t) + ".tar.gz":
			_, _ = w.Write(good)
		case "/away":
			http.Redirect(w, r, "http://127.0.0.1:2/good", http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	}))

	each(t, func(t *testing.T, sh shell) {
		for _, c := range []struct {
			name, path, sum string
			before          map[string]string
			want            []string // nil if nothing is installed
		}{
			{name: "all", path: "/good", sum: sum, want: []string{"etcd", "etcdctl", "etcdutl"}},
			{name: "a release without etcdutl", path: "/old", sum: oldSum, want: []string{"etcd", "etcdctl"}},
			{name: "an empty program is there", path: "/good", sum: sum, before: map[string]string{"etcd": ""}, want: []string{"etcd", "etcdctl", "etcdutl"}},
			{name: "it is there", path: "/none", sum: sum, before: map[string]string{"etcd": program}, want: []string{"etcd"}},
			{name: "a directory of archives", path: "/v3.6.0", want: []string{"etcd", "etcdctl", "etcdutl"}},
			{name: "a directory whose checksums lack the archive", path: "/v3.6.1"},
			{name: "a directory without checksums", path: "/v3.6.2"},
			{name: "a directory that does not exist", path: "/v3.6.3"},
			{name: "another checksum", path: "/good", sum: oldSum},
			{name: "a program that does not run", path: "/broken", sum: brokenSum},
			{name: "not found", path: "/none", sum: sum},
			{name: "a redirection without TLS", path: "/away", sum: sum},
		} {
			dir := tools(t, c.before)
			// The remains after a power failure.
			put(t, filepath.Join(dir, ".etcd-abcdef", "etcd"), "")
			out, code := sh.calls(t, "install", "ETCD_JOIN_BIN="+dir, "ETCD_JOIN_RELEASE_URL="+server.URL+c.path, "ETCD_JOIN_RELEASE_SHA256="+c.sum, "CURL_CA_BUNDLE="+pki.CAFile)
			if (code == 0) != (c.want != nil) || code == 0 && out != "" {
				t.Errorf("%s: exit code %d\n%s", c.name, code, out)
			}
			var got []string
			entries, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				info, err := e.Info()
				if err != nil {
					t.Fatal(err)
				}
				if e.IsDir() && c.before != nil && c.want != nil && len(c.want) == 1 {
					continue // nothing was done
				}
				got = append(got, e.Name())
				if c.path != "/none" && info.Mode() != 0o755 {
					t.Errorf("%s: %s has the mode %s", c.name, e.Name(), info.Mode())
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%s: %q are installed, want %q", c.name, got, c.want)
			}
		}
	}, "static")
}

// withCurl returns the shell with a curl that runs a line first.
func (sh shell) withCurl(t *testing.T, line string) (changed shell, dir string) {
	t.Helper()
	dir = tools(t, map[string]string{"curl": "#!/bin/sh\n" + line + "\nexec " + etcdtest.Need(t, "curl") + " \"$@\"\n"})
	sh.path = strings.TrimSuffix(dir+":"+sh.path, ":")
	return sh, dir
}

// Test that a download ends if the server is silent. curl takes a second for 30
// of the script.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	server := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(release) })
	each(t, func(t *testing.T, sh shell) {
		sh, _ = sh.withCurl(t, `for a; do shift; [ "$a" != 30 ] || a=1; set -- "$@" "$a"; done; set -- "$@" -k`)
		dir := tools(t, nil)
		out, code := sh.calls(t, "install", "ETCD_JOIN_BIN="+dir, "ETCD_JOIN_RELEASE_URL="+server.URL, "ETCD_JOIN_RELEASE_SHA256=ab")
		if left, err := os.ReadDir(dir); code == 0 || !strings.Contains(out, "curl: (28) ") || err != nil || len(left) > 0 {
			t.Errorf("exit code %d, %v, %v\n%s", code, left, err, out)
		}
		dir = filepath.Join(t.TempDir(), "data")
		ask(t, sh, true, nil, hurry, "ETCD_INITIAL_CLUSTER=us="+own, "ETCD_INITIAL_CLUSTER_TOKEN=T", window, at(created), "ETCD_DATA_DIR="+dir,
			RestoreVariable+"="+server.URL+"/x?secret", RestoreSHA256Variable+"="+strings.Repeat("ab", 32)).
			want(t, exitRetry, "", "cannot restore the snapshot: cannot download it: Operation too slow")
		wantNothing(t, dir)
	}, "restore")
}

// Test that no URL that may hold a secret is an argument of a process, and that
// each download has limits.
func TestNoSecretIsAnArgument(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	secret := server.URL + "/hidden?token=hidden"
	each(t, func(t *testing.T, sh shell) {
		sh, dir := sh.withCurl(t, `printf '%s\n' "$*" >>"${0%/*}/arguments"; set -- "$@" -k`)
		called := func(urls ...string) {
			t.Helper()
			said, err := os.ReadFile(filepath.Join(dir, "arguments"))
			if err != nil || strings.Contains(string(said), "hidden") {
				t.Errorf("curl is called with %q, %v", said, err)
			}
			for _, u := range urls {
				if !strings.Contains(string(said), u) {
					t.Errorf("curl is called without %s: %q", u, said)
				}
			}
		}
		if out, code := sh.calls(t, "install", "ETCD_JOIN_BIN="+t.TempDir(), "ETCD_JOIN_RELEASE_URL="+secret); code == 0 || !strings.Contains(out, "404") {
			t.Errorf("exit code %d\n%s", code, out)
		}
		called("--max-time ", "--speed-time ", "--max-filesize ")
		sh.script = Restore()
		ask(t, sh, true, nil, "ETCD_INITIAL_CLUSTER=us="+own, window, at(created), "ETCD_DATA_DIR="+t.TempDir(), RestoreVariable+"="+secret).
			want(t, exitRetry, "", "cannot download it: The requested URL returned error: 404")
		called("=http,https ")
		sh.script = Discovery()
		ask(t, sh, true, nil, "ETCD_DISCOVERY="+server.URL+"/hidden", "ETCD_DISCOVERY_PROXY=http://u:hidden@127.0.0.1:2").want(t, exitRetry, "", "the discovery cluster does not answer")
		ask(t, sh, true, nil, "ETCD_DISCOVERY="+server.URL+"/hidden").want(t, exitRetry, "", "the token cannot be used")
		called()
	}, "restore")
}

// Test that "start" runs the script and then etcd with its output. Otherwise
// the exit status is that of the script.
func TestStart(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, sh shell) {
		// Without the pauses.
		sh.path = strings.TrimSuffix(tools(t, map[string]string{"date": hurried["date"], "sleep": hurried["sleep"]})+":"+sh.path, ":")
		a := newPeer(t)
		members := []entry{ran(11, "a", a.url), {ID: 20, PeerURLs: []string{own}, IsLearner: true}}
		start := func() (string, int) {
			a.list(members...)
			return sh.calls(t, "start", "ETCD_JOIN_BIN="+tools(t, map[string]string{"etcd": program}), "RUNTIME_DIRECTORY="+t.TempDir(), "ETCD_NAME=us", at(created),
				"ETCD_INITIAL_ADVERTISE_PEER_URLS="+own, "ETCD_INITIAL_CLUSTER_STATE=existing", "ETCD_JOIN_PEERS="+a.url, "ETCD_DATA_DIR="+t.TempDir())
		}
		if out, code := start(); code != 0 || !strings.HasSuffix(out, "\nus, existing\n") {
			t.Errorf("exit code %d\n%s", code, out)
		}
		members[1] = ran(20, "us", own)
		if out, code := start(); code != exitRetry || strings.Contains(out, "us, existing") {
			t.Errorf("exit code %d, want %d\n%s", code, exitRetry, out)
		}
	}, "static")
}
