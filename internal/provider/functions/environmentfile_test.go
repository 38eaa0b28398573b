// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package functions

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/environment"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// nasty returns values that a reader could misread.
func nasty() map[string]string {
	values := []string{
		"", " ", "a", " a ", "a b", `\`, `\\`, `a\`, `\a`, `\n`, `"`, `""`, `\"`, `'`, `''`, `a'b"c`,
		"$", "$$", "$HOME", "${HOME}", "$(id)", "`id`", "\\$HOME", "#", "a#b", "a #b", ";", "a;b", "&", "|", "*", "?", "[a-z]", "{a,b}", "~", "~root", "a=~", "a:~",
		"!", "!!", "%n", "%%", "=", "a=b", "é", "日本語", "\u00a0", "export A=1",
		"https://10.0.0.1:2380", "a=https://10.0.0.1:2380,b=https://[2001:db8::1]:2380", "@/run/secret", "+1", "-n", "%@:=,./+-_",
	}
	out := map[string]string{}
	for i, v := range values {
		out[fmt.Sprintf("ETCD_%02d", i)] = v
	}
	return out
}

// written returns what environment_file returns.
func written(t testing.TB, variables map[string]string) (string, error) {
	t.Helper()
	given, diags := types.MapValueFrom(t.Context(), types.StringType, variables)
	if diags.HasError() {
		t.Fatal(diags)
	}
	got, err := run(t, environmentFile, given)
	if err != nil {
		return "", err
	}
	return got.(types.String).ValueString(), nil
}

// broken returns values that are not one line for every reader, or not text.
func broken() []string {
	return []string{
		"\t", "\n", "a\n", "\na", "a\n\nb", "a\\\nb", "a\nETCD_INJECTED=1", "\"\nETCD_INJECTED=1\n\"", "a\r", "\x00", "\x1b[2J", "\x7f", "\x9b",
		"/x\u0085runcmd: [reboot]", "a\u2028b", "a\u2029b", "\xff",
	}
}

func TestEnvironmentFileRefuses(t *testing.T) {
	for _, value := range broken() {
		text, err := written(t, map[string]string{"ETCD_A": value})
		if err == nil || text != "" || strings.Contains(err.Error(), value) {
			t.Errorf("%q: %q, %v", value, text, err)
		}
	}
}

// readEnvironment reads an environment file.
type readEnvironment func(t *testing.T, path string) map[string]string

// readers returns readers: POSIX shells and systemd.
func readers() map[string]readEnvironment {
	out := map[string]readEnvironment{"systemd": readBySystemd}
	for name, shell := range map[string][]string{"sh": {"sh"}, "dash": {"dash"}, "bash": {"bash", "--posix"}, "busybox": {"busybox", "sh"}} {
		out[name] = func(t *testing.T, path string) map[string]string {
			etcdtest.Need(t, shell[0])
			text := command(t, append(shell, "-c", `set -eau; . "$1"; exec env -0`, "sh", path)...)
			return assignments(strings.Split(string(text), "\x00"))
		}
	}
	return out
}

// command runs a reader and returns its output.
func command(t *testing.T, argv ...string) []byte {
	t.Helper()
	ctx := etcdtest.WaitContext(t)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = []string{"HOME=/nonexistent", "PATH=" + os.Getenv("PATH")}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", argv[0], err, stderr.String())
	}
	return text
}

// assignments returns the variables of the test.
func assignments(lines []string) map[string]string {
	out := map[string]string{}
	for _, line := range lines {
		if name, value, _ := strings.Cut(line, "="); strings.HasPrefix(name, "ETCD_") {
			out[name] = value
		}
	}
	return out
}

// Every reader of the file gets the given values: systemd's own parser and POSIX
// shells. The values have every character that is escaped.
func TestEnvironmentFileIsRead(t *testing.T) {
	want := nasty()
	text, err := written(t, want)
	must.Succeed(t, err)
	path := filepath.Join(t.TempDir(), "etcd.env")
	must.Write(t, path, text)
	for name, read := range readers() {
		t.Run(name, func(t *testing.T) {
			got := read(t, path)
			for variable, value := range want {
				if had, ok := got[variable]; !ok || had != value {
					t.Errorf("%s is %q, want %q", variable, had, value)
				}
			}
			if len(got) != len(want) {
				t.Errorf("%d variables, want %d", len(got), len(want))
			}
		})
	}
}

// line is a line as both systemd and a POSIX shell read it: a value without quotes, of
// characters that mean nothing to them, or one in double quotes, in which a backslash
// stands before every character that means something there.
var line = regexp.MustCompile("^([A-Za-z0-9_]+)=(?:([A-Za-z0-9_./:,=@%+-]*)|\"((?:[^\"\\\\$`\n]|\\\\[\"\\\\$`])*)\")\n$")

// read reads a file of one line.
func read(text string) (name, value string, ok bool) {
	m := line.FindStringSubmatch(text)
	if m == nil {
		return "", "", false
	}
	return m[1], m[2] + regexp.MustCompile(`\\(.)`).ReplaceAllString(m[3], "$1"), true
}

// A file that is written is read as one variable with that value.
func FuzzEnvironmentFile(f *testing.F) {
	for name, value := range nasty() {
		f.Add(name, value)
	}
	for _, value := range broken() {
		f.Add("ETCD_A", value)
	}
	f.Fuzz(func(t *testing.T, name, value string) {
		text, err := written(t, map[string]string{name: value})
		if err != nil {
			odd := strings.ContainsFunc(value, func(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' })
			if text != "" || environment.IsName(name) && !odd && utf8.ValidString(value) {
				t.Fatalf("%q=%q: %q, %v", name, value, text, err)
			}
			return
		}
		if strings.Count(text, "\n") != 1 || strings.ContainsAny(text, "\u0085\u2028\u2029\r\v\f") {
			t.Fatalf("%q was written as %q, which is not one line", value, text)
		}
		if variable, got, ok := read(text); !ok || variable != name || got != value {
			t.Fatalf("%q was written as %q and read as %q", value, text, got)
		}
	})
}

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
	must.Succeed(t, json.Unmarshal(command(t, python, "testdata/load_environment.py", libraries[0], path), &lines))
	return assignments(lines)
}
