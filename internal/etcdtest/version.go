// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/must"
)

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

// Full reports whether long and rare tests run as well, as in make test-full.
func Full() bool { return os.Getenv("ETCD_TEST_FULL") != "" }
