// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package functions

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// readBySystemd are the ways in which systemd itself reads an environment file:
// a service that a systemd of the test starts with it, and a direct call of the
// function that reads EnvironmentFile=. A way that is not available is skipped.
var readBySystemd = map[string]readEnvironment{
	"a service of systemd": func(t *testing.T, path string) map[string]string {
		etcdtest.Need(t, "systemd-analyze") // part of systemd
		run, why := manager()
		if why != "" {
			t.Skip(why)
		}
		return service(t, run, path)
	},
	"systemd's library": func(t *testing.T, path string) map[string]string {
		etcdtest.Need(t, "systemd-analyze")
		libraries, _ := filepath.Glob("/usr/lib*/*/systemd/libsystemd-shared-*.so")
		more, _ := filepath.Glob("/usr/lib*/systemd/libsystemd-shared-*.so")
		libraries = append(libraries, more...)
		if len(libraries) == 0 {
			t.Skip("libsystemd-shared is not installed")
		}
		python, err := exec.LookPath("python3")
		if err != nil {
			t.Skip(err)
		}
		var lines []string
		if err := json.Unmarshal(command(t, python, "-c", loadEnvironment, libraries[0], path), &lines); err != nil {
			t.Fatal(err)
		}
		return assignments(lines)
	},
}

// loadEnvironment calls the function that reads EnvironmentFile=.
const loadEnvironment = `
import ctypes, json, sys
read = ctypes.CDLL(sys.argv[1]).load_env_file
read.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.POINTER(ctypes.c_char_p))]
out, lines, i = ctypes.POINTER(ctypes.c_char_p)(), [], 0
rc = read(None, sys.argv[2].encode(), ctypes.byref(out))
if rc < 0:
    sys.exit("load_env_file: %d" % rc)
while out and out[i]:
    lines.append(out[i].decode())
    i += 1
print(json.dumps(lines))
`

// startService starts a service manager for one service and waits for its end.
// A manager refuses to run if systemd was not booted, which it detects by a
// directory; so it gets a /run of its own.
const startService = `
mount -t tmpfs none /run && mkdir -p /run/systemd/system /run/user &&
exec timeout 50 env -i PATH="$PATH" HOME="$2" XDG_RUNTIME_DIR=/run/user XDG_CONFIG_HOME="$2" SYSTEMD_LOG_TARGET=console \
	"$1" --user --unit=reads.service
`

// manager returns the command that runs a shell with its own mounts, followed
// by the path of systemd; or the reason why there is none.
func manager() (run []string, why string) {
	path := ""
	for _, p := range []string{"/usr/lib/systemd/systemd", "/lib/systemd/systemd"} {
		if _, err := os.Stat(p); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		return nil, "systemd is not installed"
	}
	run = []string{"unshare", "--mount"}
	if os.Geteuid() != 0 {
		run = append(run, "--map-root-user")
	}
	if out, err := exec.Command(run[0], append(run[1:], "sh", "-c", "mount -t tmpfs none /run")...).CombinedOutput(); err != nil {
		return nil, fmt.Sprintf("mounts of its own are not allowed here (%v: %s)", err, strings.TrimSpace(string(out)))
	}
	return append(run, "sh", "-c", startService, "sh", path), ""
}

// service returns the environment of a service with the file as its
// EnvironmentFile=.
func service(t *testing.T, run []string, path string) map[string]string {
	t.Helper()
	dir := t.TempDir()
	units := filepath.Join(dir, "systemd", "user")
	if err := os.MkdirAll(units, 0o755); err != nil {
		t.Fatal(err)
	}
	seen := filepath.Join(dir, "seen")
	unit := fmt.Sprintf(`[Unit]
DefaultDependencies=no
SuccessAction=exit-force
FailureAction=exit-force
[Service]
Type=oneshot
EnvironmentFile=%s
ExecStart=/usr/bin/env -0
StandardOutput=file:%s
`, path, seen)
	if err := os.WriteFile(filepath.Join(units, "reads.service"), []byte(unit), 0o600); err != nil {
		t.Fatal(err)
	}
	command(t, append(run, dir)...)
	text, err := os.ReadFile(seen)
	if err != nil {
		t.Fatal(err)
	}
	return assignments(strings.Split(string(text), "\x00"))
}
