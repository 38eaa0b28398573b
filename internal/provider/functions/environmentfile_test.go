// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package functions

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/environment"
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

// broken returns values that are not one line for every reader, or not text.
func broken() []string {
	return []string{
		"\t", "\n", "a\n", "\na", "a\n\nb", "a\\\nb", "a\nETCD_INJECTED=1", "\"\nETCD_INJECTED=1\n\"", "a\r", "\x00", "\x1b[2J", "\x7f", "\x9b",
		"/x\u0085runcmd: [reboot]", "a\u2028b", "a\u2029b", "\xff",
	}
}

func TestEnvironmentFileRefuses(t *testing.T) {
	for _, value := range broken() {
		text, err := formatEnvironment(map[string]string{"ETCD_A": value})
		if err == nil || text != "" || strings.Contains(err.Error(), value) {
			t.Errorf("%q: %q, %v", value, text, err)
		}
	}
}

// readEnvironment reads an environment file.
type readEnvironment func(t *testing.T, path string) map[string]string

// readers returns readers: POSIX shells, the model of systemd's rules, and systemd.
func readers() map[string]readEnvironment {
	out := maps.Clone(readBySystemd)
	out["the model of systemd"] = func(t *testing.T, path string) map[string]string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return readAsSystemd(string(text))
	}
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

// Every reader of the file gets the given values: systemd's own parser, POSIX
// shells, and the model that the fuzzer below uses.
func TestEnvironmentFileIsRead(t *testing.T) {
	want := nasty()
	text, err := formatEnvironment(want)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "etcd.env")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
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

// The model also reads files that we did not write as systemd does; otherwise
// the fuzzer would not prove anything. The expected values were read by systemd
// 252, and the installed systemd is checked against them, if there is one.
func TestModelReadsAsSystemd(t *testing.T) {
	text := bytes.Join([][]byte{
		[]byte("# comment\n; comment\nETCD_A=a b \nETCD_B='a\\b'\nETCD_C=\"a\\b\\$\\\"\"\nETCD_D=a\\ b\\\nc\n  ETCD_E = e\nETCD_F='a'b\"c\"\n"),
		[]byte("ETCD_G=\"a\\\nb\"\nETCD_H=a # b\nETCD_I=\nETCD_J='a\nb'\nETCD_K=a\\"),
	}, nil)
	want := map[string]string{
		"ETCD_A": "a b", "ETCD_B": `a\b`, "ETCD_C": `a\b$"`, "ETCD_D": "a bc", "ETCD_E": "e", "ETCD_F": `ab"c"`,
		"ETCD_G": "ab", "ETCD_H": "a # b", "ETCD_I": "", "ETCD_J": "a\nb", "ETCD_K": "a",
	}
	path := filepath.Join(t.TempDir(), "etcd.env")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, read := range readers() {
		if !strings.Contains(name, "systemd") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			if got := read(t, path); !maps.Equal(got, want) {
				t.Errorf("read %q\nwant %q", got, want)
			}
		})
	}
}

// readAsSystemd is a second implementation of systemd's rules for the file, for
// values that systemd accepts.
func readAsSystemd(text string) map[string]string {
	out := map[string]string{}
	r := reader{text: text}
	for !r.end() {
		for r.at(" \t\n\r") {
			r.next()
		}
		if r.at("#;") {
			r.until("\n\r")
			continue
		}
		name := strings.TrimSpace(r.until("=\n\r"))
		if !r.at("=") {
			continue
		}
		r.next()
		out[name] = r.value()
	}
	return out
}

type reader struct {
	text string
	i    int
}

func (r *reader) end() bool          { return r.i >= len(r.text) }
func (r *reader) at(set string) bool { return !r.end() && strings.IndexByte(set, r.text[r.i]) >= 0 }
func (r *reader) next() byte         { r.i++; return r.text[r.i-1] }
func (r *reader) until(set string) string {
	start := r.i
	for !r.end() && !r.at(set) {
		r.i++
	}
	return r.text[start:r.i]
}

// value reads a value. Quotes count only at its beginning, or after another
// quote.
func (r *reader) value() string {
	var b []byte
	keep := 0 // trailing white space before this index stays
	for begins := true; !r.end() && !r.at("\n\r"); {
		switch c := r.next(); {
		case c == ' ' || c == '\t':
			if !begins {
				b = append(b, c)
			}
			continue
		case c == '\'' && begins:
			b = append(b, r.until("'")...)
			r.i++
		case c == '"' && begins:
			b = append(b, r.quoted()...)
		case c == '\\' && (r.end() || r.at("\n\r")):
			r.i++
			begins = false
			continue
		case c == '\\':
			b, begins = append(b, r.next()), false
		default:
			b, begins = append(b, c), false
		}
		keep = len(b)
	}
	return string(b[:keep])
}

func (r *reader) quoted() []byte {
	var b []byte
	for !r.end() && !r.at(`"`) {
		switch c := r.next(); {
		case c != '\\' || r.end():
			b = append(b, c)
		case r.at("\"\\`$"):
			b = append(b, r.next())
		case r.at("\n\r"):
			r.next()
		default:
			b = append(b, c)
		}
	}
	r.i++
	return b
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
		text, err := formatEnvironment(map[string]string{name: value})
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
		if got := readAsSystemd(text); len(got) != 1 || got[name] != value {
			t.Fatalf("%q was written as %q and read as %q", value, text, got)
		}
	})
}
