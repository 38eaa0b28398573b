// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package userdata

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/joinscript"
)

// writers maps extensions of golden files to functions.
var writers = map[string]func(Node, Options) (string, error){".yaml": CloudConfig, ".ign": Ignition}

// member returns a node with TLS. Golden files do not contain a real
// script, because that may change.
func member(format int, script string) Node {
	return Node{Format: format, JoinScriptBase64Gzip: script, Version: "3.6.16", Environment: map[string]string{
		"ETCD_NAME":                        "a",
		"ETCD_ADVERTISE_CLIENT_URLS":       "https://10.0.1.10:2379",
		"ETCD_LISTEN_CLIENT_URLS":          "https://10.0.1.10:2379",
		"ETCD_INITIAL_ADVERTISE_PEER_URLS": "https://10.0.1.10:2380",
		"ETCD_LISTEN_PEER_URLS":            "https://10.0.1.10:2380",
		"ETCD_INITIAL_CLUSTER":             "a=https://10.0.1.10:2380,b=https://10.0.1.11:2380,c=https://10.0.1.12:2380",
		"ETCD_INITIAL_CLUSTER_STATE":       "new",
		"ETCD_INITIAL_CLUSTER_TOKEN":       "5a3c7d0e4b1f4c52a9e86b1d0f7c2e93",
		"ETCD_JOIN_BOOTSTRAP_WINDOW":       "1781078400-1781082000",
		"ETCD_JOIN_PEERS":                  "https://10.0.1.10:2380,https://10.0.1.11:2380,https://10.0.1.12:2380",
	}}
}

func paths() map[string]any {
	return map[string]any{"ca": "/etc/etcd/pki/ca.pem", "cert": "/etc/etcd/pki/server.pem", "key": "/etc/etcd/pki/server-key.pem"}
}

// goldens returns options by the name of their golden files.
func goldens(t *testing.T) map[string]map[string]any {
	t.Helper()
	inline := func(side string) map[string]any {
		out := map[string]any{}
		for key, name := range map[string]string{"ca": "ca.pem", "cert": side + ".pem", "key": side + "-key.pem"} {
			out[key] = read(t, filepath.Join("testdata", "tls", name))
		}
		return out
	}
	return map[string]map[string]any{
		"paths":    {"etcd": aRelease(), "tls": paths()},
		"official": {"tls": paths()},
		"text":     {"etcd": aRelease(), "tls": inline("server")},
		"all": {
			"etcd": map[string]any{"path": "/usr/bin"}, "tls": inline("server"), "peer_tls": inline("peer"), "data_dir": "/srv/etcd-data",
			"data_disk":   map[string]any{"device": "/dev/disk/by-id/data", "filesystem": "xfs"},
			"environment": map[string]any{"ETCD_QUOTA_BACKEND_BYTES": "8589934592", "ETCD_LOG_OUTPUTS": "a \"b\" $c `d` \\e #f"},
		},
	}
}

// Test that user data of each format stays as released, byte by byte: a
// difference would replace the machine. UPDATE=1 rewrites the files of a format
// that is not released yet.
func TestFormats(t *testing.T) {
	t.Parallel()
	for format := 1; format <= Format; format++ {
		for name, given := range goldens(t) {
			o, known, err := Parse(given)
			if err != nil || !known {
				t.Fatal(name, known, err)
			}
			for extension, write := range writers {
				got, err := write(member(format, "H4sIAAAAAAAA/1NW1E/KzNMvzuACAMpgJvcKAAAA"), o)
				must(t, err)
				golden := filepath.Join("testdata", fmt.Sprintf("format-%d", format), name+extension)
				if os.Getenv("UPDATE") != "" {
					must(t, os.WriteFile(golden, []byte(got), 0o600))
				}
				if want := read(t, golden); got != want {
					t.Errorf("%s\ngot\n%s\nwant\n%s", golden, got, want)
				}
			}
		}
	}
}

// Test that a node of a later version is not written in another format.
func TestUnknownFormats(t *testing.T) {
	t.Parallel()
	for _, write := range writers {
		for _, format := range []int{-1, 0, Format + 1} {
			if text, err := write(member(format, ""), Options{bin: "/usr/bin"}); !errors.Is(err, FormatError(format)) || text != "" {
				t.Errorf("format %d: %v\n%s", format, err, text)
			}
		}
	}
}

// Test that cloud-init and Ignition accept their user data.
func TestSchemaOfCloudInit(t *testing.T) {
	t.Parallel()
	program := etcdtest.Need(t, "cloud-init")
	for _, file := range newest(t, ".yaml") {
		out, err := exec.CommandContext(t.Context(), program, "schema", "--config-file", file).CombinedOutput()
		if err != nil || strings.Contains(string(out), "rror") || strings.Contains(string(out), "deprecated") {
			t.Errorf("%s: %v\n%s", file, err, out)
		}
	}
}

func TestValidatorOfIgnition(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "ignition-validate")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "github.com/coreos/ignition/v2/validate")
	build.Dir = filepath.Join("..", "..", "tools", "butane")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	validate := func(file string) (string, error) {
		out, err := exec.CommandContext(t.Context(), program, file).CombinedOutput()
		return string(out), err
	}
	for _, file := range newest(t, ".ign") {
		if out, err := validate(file); err != nil || out != "" {
			t.Errorf("%s: %v\n%s", file, err, out)
		}
	}
	// Ignition rejects an invalid file.
	bad := filepath.Join(t.TempDir(), "bad.ign")
	must(t, os.WriteFile(bad, []byte(strings.Replace(read(t, newest(t, ".ign")[0]), `"mode":`, `"mod":`, 1)), 0o600))
	if out, err := validate(bad); err == nil && out == "" {
		t.Error("the validator takes anything")
	}
}

func newest(t *testing.T, extension string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", fmt.Sprintf("format-%d", Format), "*"+extension))
	if err != nil || len(files) != len(goldens(t)) {
		t.Fatalf("%d files: %v", len(files), err)
	}
	return files
}

// Amazon EC2 accepts 16 KiB. A static configuration leaves room for more.
func TestSizes(t *testing.T) {
	t.Parallel()
	pki := etcdtest.NewPKI(t)
	inline := map[string]any{"ca": read(t, pki.CAFile), "cert": read(t, pki.Server.CertFile), "key": read(t, pki.Server.KeyFile)}
	for _, c := range []struct {
		name   string
		script joinscript.Variant
		tls    map[string]any
		limit  int
	}{
		{"static, paths of certificates", joinscript.Static(), paths(), 11 << 10},
		{"static, certificates", joinscript.Static(), inline, 15 << 10},
		{"restore, certificates", joinscript.Restore(), inline, 16 << 10},
		{"discovery, paths of certificates", joinscript.Discovery(), paths(), 14 << 10},
		{"discovery, certificates", joinscript.Discovery(), inline, 16 << 10},
	} {
		o, _, err := Parse(map[string]any{"etcd": aRelease(), "tls": c.tls})
		must(t, err)
		for extension, write := range writers {
			text, err := write(member(Format, c.script.Base64Gzip), o)
			must(t, err)
			t.Logf("%s%s: %d bytes, of %d", c.name, extension, len(text), c.limit)
			if len(text) > c.limit {
				t.Errorf("%s%s: %d bytes, want at most %d", c.name, extension, len(text), c.limit)
			}
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	return string(text)
}

// must fails the test with an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
