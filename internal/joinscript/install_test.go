// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package joinscript

import (
	"archive/tar"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// fakeEtcd simulates etcd as far as the script uses it.
func fakeEtcd(version string) string {
	return "#!/bin/sh\ncase ${1:-} in --version) echo 'etcd Version: " + version + "' ;; --help) cat \"${0%/*}/help\" ;; *) echo \"$ETCD_NAME, $ETCD_INITIAL_CLUSTER_STATE\" ;; esac\n"
}

// archive returns a release with some programs, and its SHA-256.
func archive(t *testing.T, programs map[string]string) (text, sum string) {
	t.Helper()
	packed := etcdtest.Archive(t, tar.Header{Name: "etcd-v3.6.0-linux-amd64/", Mode: 0o644, Uid: 4711, Gid: 4711}, programs)
	return string(packed), fmt.Sprintf("%x", sha256.Sum256(packed))
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
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("the archives of the test are for amd64 and arm64")
	}
	pki := etcdtest.NewPKI(t)
	all := map[string]string{"etcd": fakeEtcd("3.6.0"), "etcdctl": "ctl", "etcdutl": "utl", "README.md": "read me"}
	good, sum := archive(t, all)
	old, oldSum := archive(t, map[string]string{"etcd": all["etcd"], "etcdctl": "ctl"})
	broken, brokenSum := archive(t, map[string]string{"etcd": "#!/bin/sh\nexit 1\n", "etcdctl": "ctl"})
	// The checksums of a release, in which each other archive has another one.
	sums, other := "", strings.Repeat("ab", 32)
	for _, file := range []string{"darwin-amd64.zip", "linux-amd64.tar.gz", "linux-arm64.tar.gz", "linux-ppc64le.tar.gz", "linux-s390x.tar.gz"} {
		of := other
		if strings.HasPrefix(file, "linux-"+runtime.GOARCH+".") {
			of = sum
		}
		sums += of + "  etcd-v3.6.0-" + file + "\n"
	}
	of := func(version string) string {
		return "/" + version + "/etcd-" + version + "-linux-" + runtime.GOARCH + ".tar.gz"
	}
	files := map[string]string{
		"/good": good, "/old": old, "/broken": broken, of("v3.6.0"): good, "/v3.6.0/SHA256SUMS": sums,
		of("v3.6.1"): good, "/v3.6.1/SHA256SUMS": sums /* which lack it */, of("v3.6.2"): good,
	}
	server := pki.WebServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, found := files[r.URL.Path]
		switch {
		case r.URL.Path == "/away":
			http.Redirect(w, r, dead+"/good", http.StatusFound)
		case found:
			_, _ = io.WriteString(w, text)
		default:
			http.NotFound(w, r)
		}
	}))

	each(t, func(t *testing.T, sh shell) {
		for _, c := range []struct {
			name, path, sum string
			before          map[string]string
			want            string // "" if nothing is installed
		}{
			{name: "all", path: "/good", sum: sum, want: "etcd etcdctl etcdutl"},
			{name: "a release without etcdutl", path: "/old", sum: oldSum, want: "etcd etcdctl"},
			{name: "an empty program is there", path: "/good", sum: sum, before: map[string]string{"etcd": ""}, want: "etcd etcdctl etcdutl"},
			{name: "it is there", path: "/none", sum: sum, before: map[string]string{"etcd": all["etcd"]}, want: ".etcd-abcdef etcd"},
			{name: "a directory of archives", path: "/v3.6.0", want: "etcd etcdctl etcdutl"},
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
			if (code == 0) != (c.want != "") || code == 0 && out != "" {
				t.Errorf("%s: exit code %d\n%s", c.name, code, out)
			}
			entries, err := os.ReadDir(dir)
			must.Succeed(t, err)
			var got []string
			for _, e := range entries {
				got = append(got, e.Name())
				if info, err := e.Info(); err != nil || c.path != "/none" && info.Mode() != 0o755 {
					t.Errorf("%s: %s is %v, %v", c.name, e.Name(), info, err)
				}
			}
			if strings.Join(got, " ") != c.want {
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
		newScene(t, sh, nil, "", rowOf("|initial window restore TEST_PATIENCE= ETCD_JOIN_RESTORE="+server.URL+"/x?secret"+
			"| | wait | cannot restore the snapshot: cannot download it: Operation too slow | clean")).play()
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
		plays := func(v Variant, row string) {
			sh.script = v
			newScene(t, sh, nil, "", rowOf(row)).play()
		}
		plays(Restore(), "|initial window restore ETCD_JOIN_RESTORE="+secret+"| | wait | cannot download it: The requested URL returned error: 404")
		called("=http,https ")
		hidden := "|initial ETCD_DISCOVERY=" + server.URL + "/hidden "
		plays(Discovery(), hidden+"ETCD_DISCOVERY_PROXY=http://u:hidden@127.0.0.1:2 peers=| | wait | the discovery cluster does not answer")
		plays(Discovery(), hidden+"peers=| | wait | the token cannot be used")
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
		for answer, want := range map[string]string{"a: a! (c)": "\nus, existing\n", "a: a! c!": ""} {
			s := newScene(t, sh, nil, "", rowOf("|etcd=3.6.0 TEST_NOW=1 RUNTIME_DIRECTORY=$dir peers=a|"+answer))
			s.prepare(s.rows[0])
			out, code := sh.calls(t, "start", s.environment()...)
			if starts := want != ""; starts != strings.Contains(out, "us, existing") || starts != (code == 0) || !starts && code != exitRetry || !strings.HasSuffix(out, want) {
				t.Errorf("%s: exit code %d\n%s", answer, code, out)
			}
		}
	}, "static")
}
