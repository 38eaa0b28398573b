// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package functions

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// readBySystemd calls the function of systemd that reads EnvironmentFile=.
func readBySystemd(t *testing.T, path string) map[string]string {
	etcdtest.Need(t, "systemd-analyze") // part of systemd
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
