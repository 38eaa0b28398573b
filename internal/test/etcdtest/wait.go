// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/clock"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// WaitLimit ends a test that hangs, and names what it waited for. It is no limit for
// an expected event: a test has no limit of its own, so that a busy machine slows it
// but does not fail it.
const WaitLimit = 15 * time.Minute

// WaitContext returns a context for calls that wait for an expected event. It ends
// with the test, or after [WaitLimit].
func WaitContext(t TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), WaitLimit)
	t.Cleanup(cancel)
	return ctx
}

// Eventually calls is until it returns nil. It fails the test with the latest
// error if that takes longer than [WaitLimit].
func Eventually(tb TB, what string, is func() error) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), WaitLimit)
	defer cancel()
	if err := poll(ctx, 20*time.Millisecond, func(context.Context) error { return is() }); err != nil {
		tb.Fatalf("%s: not within %v: %v", what, WaitLimit, err)
	}
}

// Until is [Eventually] for a function that returns a bool.
func Until(tb TB, what string, is func() bool) {
	tb.Helper()
	Eventually(tb, what, func() error {
		if !is() {
			return errNotYet
		}
		return nil
	})
}

var errNotYet = errors.New("not yet")

// poll calls try until it returns nil or a finalError, or ctx is done. In the
// last case the result includes the latest error of try.
func poll(ctx context.Context, every time.Duration, try func(context.Context) error) error {
	for {
		err := try(ctx)
		var final finalError
		if err == nil || errors.As(err, &final) {
			return err
		}
		if (clock.System{}).Sleep(ctx, every) != nil {
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
}

// finalError is an error that ends a poll.
type finalError struct{ error }

func (e finalError) Unwrap() error { return e.error }

// TB is a test. Functions that take one can end the calling goroutine, and must therefore
// be called from the goroutine of the test.
type TB = testing.TB

// Skipper is the part of a test that [Need] uses.
type Skipper interface {
	Helper()
	Skipf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Need returns the path of a program that the test requires. program is a name on
// PATH or the path of a file that make builds. If it is missing, Need skips the
// test and logs the reason. With CI set, Need fails the test instead, unless
// CI_MISSING (names separated by spaces) lists the program as not installable.
func Need(t Skipper, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err == nil {
		return path
	}
	if os.Getenv("CI") != "" && !slices.Contains(strings.Fields(os.Getenv("CI_MISSING")), program) {
		t.Fatalf("%v: this cannot be tested", err)
	}
	t.Skipf("needs %s: %v", program, err) // tools/count and tools/wanting read this
	return ""
}

// Collected runs the garbage collector after the tests of a package and before
// their goroutines are counted. A provider that was served within a test has
// two goroutines that read from pipes, and go-plugin leaves it to the collector
// to close those pipes.
type Collected struct{ *testing.M }

// Run runs the tests.
func (c Collected) Run() int {
	code := c.M.Run()
	runtime.GC()
	return code
}

// Version is a minor release of etcd, such as "3.6", for which there is a
// binary.
type Version string

// These are the versions that `make tools` builds.
const (
	V34 Version = "3.4"
	V35 Version = "3.5"
	V36 Version = "3.6"
	V37 Version = "3.7"
)

// DefaultVersion is the version if [Options] do not name one.
const DefaultVersion = V37

// Versions returns the versions for a test that runs on each: the oldest and the
// newest that are maintained. If [Full] it is every version, oldest first.
func Versions() []Version {
	if Full() {
		return []Version{V34, V35, V36, V37}
	}
	return []Version{V35, V37}
}

// Maintained is [Versions] without 3.4, which is not maintained.
func Maintained() []Version {
	return slices.DeleteFunc(Versions(), func(v Version) bool { return v == V34 })
}

// WithV2 returns the versions that serve the v2 API: 3.5, and if [Full] 3.4 too.
func WithV2() []Version {
	if Full() {
		return []Version{V34, V35}
	}
	return []Version{V35}
}

// servesV2 reports whether the version has --enable-v2.
func (v Version) servesV2() bool { return v == V34 || v == V35 }

// skipsFsync reports whether the version has --unsafe-no-fsync; 3.4 lacks it.
// Writes then still survive the death of the process.
func (v Version) skipsFsync() bool { return v != V34 }

// binDirVariable names the directory of the binaries. With "none" tests that need one are
// skipped.
const binDirVariable = "ETCDTEST_BIN"

// Binary returns the path of the etcd server of version v, in the directory
// that ETCDTEST_BIN names, or else in bin/ at the root of the module. It fails
// the test if there is no such binary.
func Binary(tb TB, v Version) string {
	tb.Helper()
	return findBinary(tb, "etcd-"+string(v))
}

// EtcdctlBinary returns the path of etcdctl of version v, like [Binary].
func EtcdctlBinary(tb TB, v Version) string {
	tb.Helper()
	return findBinary(tb, "etcdctl-"+string(v))
}

// EtcdutlBinary returns the path of etcdutl of version v, like [Binary]. There
// is none for 3.4.
func EtcdutlBinary(tb TB, v Version) string {
	tb.Helper()
	return findBinary(tb, "etcdutl-"+string(v))
}

func findBinary(tb TB, name string) string {
	tb.Helper()
	dir := os.Getenv(binDirVariable)
	switch dir {
	case "":
		dir = filepath.Join(ModuleRoot(tb), "bin")
	case "none":
		tb.Skipf("needs %s, and %s is none", name, binDirVariable)
	}
	path := filepath.Join(dir, name)
	info, err := os.Stat(path)
	if err != nil {
		tb.Fatalf("etcdtest: %v: run `make tools` at the root of the repository, or set %s", err, binDirVariable)
	}
	if info.IsDir() || info.Mode().Perm()&0o111 == 0 {
		tb.Fatalf("etcdtest: %s is no executable file: run `make tools` at the root of the repository, or set %s", path, binDirVariable)
	}
	return path
}

// ModuleRoot returns the nearest directory with a go.mod, starting at the
// working directory: tests run in the directory of their package.
func ModuleRoot(tb TB) string {
	tb.Helper()
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if filepath.Dir(dir) == dir {
			err = os.ErrNotExist
		}
		dir = filepath.Dir(dir)
	}
	tb.Fatalf("etcdtest: no go.mod above the working directory: %v", err)
	return ""
}

// Release returns the version that the etcd of version v prints, with three numbers.
func Release(tb TB, v Version) string {
	tb.Helper()
	out, err := exec.Command(Binary(tb, v), "--version").Output()
	must.Succeed(tb, err)
	first, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimPrefix(first, "etcd Version: ")
}

// Archive packs programs as a release of etcd. like.Name is its directory.
func Archive(tb TB, like tar.Header, programs map[string]string) []byte {
	tb.Helper()
	var packed bytes.Buffer
	zipped, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	must.Succeed(tb, err)
	files := tar.NewWriter(zipped)
	for name, text := range programs {
		header := like
		header.Name, header.Size = like.Name+name, int64(len(text))
		must.Succeed(tb, files.WriteHeader(&header))
		_, err := io.WriteString(files, text)
		must.Succeed(tb, err)
	}
	must.Succeed(tb, errors.Join(files.Close(), zipped.Close()))
	return packed.Bytes()
}

// Full reports whether long and rare tests run as well, as in make test-full.
func Full() bool { return os.Getenv("ETCD_TEST_FULL") != "" }
