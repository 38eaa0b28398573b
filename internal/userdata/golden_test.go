// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package userdata

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"go.yaml.in/yaml/v2"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/joinscript"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// writers maps extensions of golden files to functions.
var writers = map[string]func(Node, Options) (string, error){".yaml": CloudConfig, ".ign": Ignition}

// member returns a node with TLS. Golden files do not contain a real
// script, because that may change.
func member(t *testing.T, format int, script string) Node {
	t.Helper()
	n := Node{Format: format, JoinScriptBase64Gzip: script, Version: "3.6.16"}
	must.Succeed(t, json.Unmarshal([]byte(must.Read(t, "testdata/environment.json")), &n.Environment))
	return n
}

func paths() map[string]any {
	return map[string]any{"ca": "/etc/etcd/pki/ca.pem", "cert": "/etc/etcd/pki/server.pem", "key": "/etc/etcd/pki/server-key.pem"}
}

// goldens returns options by the name of their golden files. (The bytes of compressed ones are
// the encoder's, which no version of Go changes.)
func goldens(t *testing.T) (out map[string]map[string]any) {
	t.Helper()
	text := regexp.MustCompile(`"@[a-z-]+\.pem"`).ReplaceAllStringFunc(must.Read(t, "testdata/goldens.json"), func(file string) string {
		content, err := json.Marshal(must.Read(t, filepath.Join("testdata", "tls", strings.Trim(file, `"@`))))
		must.Succeed(t, err)
		return string(content)
	})
	must.Succeed(t, json.Unmarshal([]byte(text), &out))
	return out
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
				got, err := write(member(t, format, "H4sIAAAAAAAA/1NW1E/KzNMvzuACAMpgJvcKAAAA"), o)
				must.Succeed(t, err)
				golden := filepath.Join("testdata", fmt.Sprintf("format-%d", format), name+extension)
				must.BeGolden(t, golden, got)
			}
		}
	}
}

// Test that a node of a later version is not written in another format.
func TestUnknownFormats(t *testing.T) {
	t.Parallel()
	for _, write := range writers {
		for _, format := range []int{-1, 0, Format + 1} {
			if text, err := write(member(t, format, ""), Options{bin: "/usr/bin"}); !errors.Is(err, FormatError(format)) || text != "" {
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
		if strings.HasSuffix(file, "compressed.yaml") {
			continue // TestCompressed
		}
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
	must.Write(t, bad, strings.Replace(must.Read(t, newest(t, ".ign")[0]), `"mode":`, `"mod":`, 1))
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
	inline := map[string]any{"ca": must.Read(t, pki.CAFile), "cert": must.Read(t, pki.Server.CertFile), "key": must.Read(t, pki.Server.KeyFile)}
	for _, c := range []struct {
		name   string
		script joinscript.Variant
		tls    map[string]any
		limit  int
	}{
		{"static, paths of certificates", joinscript.Static(), paths(), 12 << 10},
		{"static, certificates", joinscript.Static(), inline, 15 << 10},
		{"restore, certificates", joinscript.Restore(), inline, 16 << 10},
		{"discovery, paths of certificates", joinscript.Discovery(), paths(), 16 << 10},
		{"discovery, certificates", joinscript.Discovery(), inline, 18 << 10},
	} {
		o, _, err := Parse(map[string]any{"etcd": aRelease(), "tls": c.tls})
		must.Succeed(t, err)
		for extension, write := range writers {
			text, err := write(member(t, Format, c.script.Base64Gzip), o)
			must.Succeed(t, err)
			t.Logf("%s%s: %d bytes, of %d", c.name, extension, len(text), c.limit)
			if len(text) > c.limit {
				t.Errorf("%s%s: %d bytes, want at most %d", c.name, extension, len(text), c.limit)
			}
		}
	}
}

func aRelease() map[string]any {
	return map[string]any{"url": "https://example.com/etcd.tar.gz", "sha256": strings.Repeat("ab", 32)}
}

// TestOptions runs the stanzas of testdata/options.txt. -rewrite rewrites the file.
func TestOptions(t *testing.T) {
	t.Parallel()
	datadriven.RunTest(t, filepath.Join("testdata", "options.txt"), func(t *testing.T, d *datadriven.TestData) string {
		if d.Cmd == "problems" { // that no option alone has
			return fmt.Sprintf("%s\n%s\n%s\n%s\n%s", NotPair, RemovedVariable, NeededForHTTPS, UnusedForHTTP, Taken)
		}
		var out []string
		for line := range strings.Lines(d.Input) {
			var given map[string]any
			line = strings.NewReplacer("SUM", strings.Repeat("ab", 32), "CERTIFICATE", strings.ReplaceAll(certificate, "\n", `\n`)).Replace(line)
			must.Succeed(t, json.Unmarshal([]byte(line), &given))
			if d.Cmd == "given" {
				given["etcd"] = aRelease()
			}
			unknowing(given)
			o, known, err := Parse(given)
			said := map[bool]string{true: "known", false: "not known"}[known]
			if err == nil && d.Cmd == "machine" {
				version, words := "", "ETCD_JOIN_"
				d.MaybeScanArgs(t, "version", &version)
				d.MaybeScanArgs(t, "shows", &words)
				var m machine
				if m, err = newMachine(Node{Format: Format, Version: version}, o, "/bin"); err == nil {
					said = variablesOf(m, words)
				}
			}
			if e, ok := errors.AsType[*OptionError](err); ok && !strings.Contains(e.Value, "secret") {
				said, err = fmt.Sprintf("%s: %s", e.Path, e.Problem), nil
			}
			must.Succeed(t, err)
			out = append(out, said)
		}
		return strings.Join(out, "\n")
	})
}

// unknowing replaces "@unknown" in a value.
func unknowing(v any) any {
	switch v := v.(type) {
	case string:
		if v == "@unknown" {
			return Unknown{}
		}
	case map[string]any:
		for key := range v {
			v[key] = unknowing(v[key])
		}
	case []any:
		for i := range v {
			v[i] = unknowing(v[i])
		}
	}
	return v
}

// variablesOf are the variables of a machine with a word in their names, and a unit that
// installs etcd.
func variablesOf(m machine, word string) string {
	lines := strings.Split(m.files[len(m.files)-1].content+"\n"+m.unit, "\n")
	return strings.Join(slices.DeleteFunc(lines, func(line string) bool {
		return !strings.Contains(line, word) && !strings.HasSuffix(line, " install")
	}), "; ")
}

// FuzzCloudConfig tests that no value can end its line, begin a key or change others.
func FuzzCloudConfig(f *testing.F) {
	f.Add("ETCD_A", "a\"b\\c$d`e: - #", "/var/lib/etcd")
	f.Fuzz(func(t *testing.T, name, value, dir string) {
		given := map[string]any{"etcd": aRelease(), "environment": map[string]any{name: value}, "data_dir": dir}
		o, _, err := Parse(given)
		if err != nil {
			return
		}
		text, err := CloudConfig(Node{Environment: map[string]string{"ETCD_NAME": "a"}, Format: Format}, o)
		if err != nil {
			return
		}
		plain, _, err := Parse(map[string]any{"etcd": aRelease(), "environment": map[string]any{name: "b"}})
		must.Succeed(t, err)
		want, err := CloudConfig(Node{Environment: map[string]string{"ETCD_NAME": "a"}, Format: Format}, plain)
		if err != nil || strings.Count(text, "\n") != strings.Count(want, "\n") {
			t.Errorf("%q has other lines than\n%s", text, want)
		}
	})
}

const certificate = "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n"

func TestExtra(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		extra   map[string]any
		want    string
		problem string
	}{
		"list behind list": {extra: map[string]any{"runcmd": []any{"reboot"}}, want: "etcd.service\"]\n- \"reboot\"\n"},
		"new key":          {extra: map[string]any{"hostname": "a"}, want: "\"hostname\": \"a\"\n"},
		"taken":            {extra: map[string]any{"package_update": false}, problem: "extra.package_update"},
		"no list":          {extra: map[string]any{"runcmd": "reboot"}, problem: "extra.runcmd"},
	} {
		o, _, err := Parse(map[string]any{"etcd": aRelease(), "extra": c.extra})
		must.Succeed(t, err)
		text, err := CloudConfig(Node{Format: Format}, o)
		var e *OptionError
		if c.problem == "" && (err != nil || !strings.Contains(text, c.want)) || c.problem != "" && (!errors.As(err, &e) || e.Path != c.problem || e.Problem != Taken) {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
}

// Test that each value of extra is in the result what it was, also if it is empty.
func TestExtraKeepsItsKinds(t *testing.T) {
	t.Parallel()
	empty := []any{[]any{}, map[string]any{}, "", nil, false, int64(0), json.Number("0.0000001")}
	extra := map[string]any{
		"list": []any{}, "map": map[string]any{}, "text": "", "false": false, "zero": int64(0), "small": json.Number("0.0000001"), "elements": empty,
		"nested": map[string]any{"list": []any{}, "map": map[string]any{}, "text": "", "null": nil, "elements": empty},
	}
	want, err := json.Marshal(extra)
	must.Succeed(t, err)
	// Each of these is a key of the result, too.
	merged := map[string]any{"runcmd": []any{}, "packages": []any{}, "users": []any{}, "write_files": []any{}}
	maps.Copy(merged, extra)
	o, _, err := Parse(map[string]any{"etcd": aRelease(), "extra": merged})
	must.Succeed(t, err)
	text, err := CloudConfig(Node{Format: Format}, o)
	must.Succeed(t, err)
	var doc, given map[string]any
	must.Succeed(t, errors.Join(yaml.Unmarshal([]byte(text), &doc), yaml.Unmarshal(want, &given)))
	maps.DeleteFunc(doc, func(key string, _ any) bool { return extra[key] == nil })
	if !reflect.DeepEqual(doc, given) || strings.Contains(text, "1e-7") {
		t.Errorf("got %v\nwant %v\nin\n%s", doc, given, text)
	}

	o.extra = extra
	var ign struct {
		Ignition struct {
			Config struct{ Merge []struct{ Source string } }
		}
	}
	text, err = Ignition(Node{Format: Format}, o)
	must.Succeed(t, err)
	if err := json.Unmarshal([]byte(text), &ign); err != nil || len(ign.Ignition.Config.Merge) != 1 {
		t.Fatalf("%v\n%s", err, text)
	}
	got, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(ign.Ignition.Config.Merge[0].Source, "data:;base64,"))
	if err != nil || string(got) != string(want) {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
	// Nothing to merge is no configuration to merge, which would have no version.
	o.extra = map[string]any{}
	if text, err := Ignition(Node{Format: Format}, o); err != nil || strings.Contains(text, "merge") {
		t.Errorf("%v\n%s", err, text)
	}
}

func decompressed(t *testing.T, text string) string {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(text)
	must.Succeed(t, err)
	r, err := gzip.NewReader(bytes.NewReader(raw))
	must.Succeed(t, err)
	out, err := io.ReadAll(r) // with the checksum
	must.Succeed(t, err)
	return string(out)
}

// Test that compressed user data is the same text, that each cloud can take it, and that it
// fits into the 16 KiB of Amazon EC2, which do not count the base64 of cloud-init's, where
// that of a discovery does not.
func TestCompressed(t *testing.T) {
	t.Parallel()
	pki := etcdtest.NewPKI(t)
	all := goldens(t)
	all["largest"] = map[string]any{
		"etcd": aRelease(), "tls": map[string]any{"ca": must.Read(t, pki.CAFile), "cert": must.Read(t, pki.Server.CertFile), "key": must.Read(t, pki.Server.KeyFile)},
		"extra": map[string]any{"ignition": map[string]any{"version": "3.3.0"}},
	}
	for name, given := range all {
		given = maps.Clone(given)
		given["compress"] = false
		plain, _, err := Parse(given)
		must.Succeed(t, err)
		given["compress"] = true
		o, known, err := Parse(given)
		if err != nil || !known {
			t.Fatal(name, known, err)
		}
		n := member(t, Format, joinscript.Discovery().Base64Gzip)
		for extension, write := range writers {
			want, err := write(n, plain)
			must.Succeed(t, err)
			got, err := write(n, o)
			must.Succeed(t, err)
			data, size := got, len(got)*3/4
			if extension == ".ign" {
				var ign struct {
					Ignition struct {
						Version string
						Config  struct {
							Replace struct{ Compression, Source string }
						}
					}
				}
				must.Succeed(t, json.Unmarshal([]byte(got), &ign))
				from := ign.Ignition.Config.Replace
				if from.Compression != "gzip" || ign.Ignition.Version != ignitionVersion {
					t.Errorf("%s%s: %+v", name, extension, ign)
				}
				data, size = strings.TrimPrefix(from.Source, "data:;base64,"), len(got)
			}
			if text := decompressed(t, data); text != want {
				t.Errorf("%s%s: the text differs\n%s", name, extension, text)
			}
			t.Logf("%s%s: %d bytes of %d", name, extension, size, len(want))
			// With certificates of its own for peers, a discovery needs more.
			if size > 16<<10 && name != "all" || size >= len(want) {
				t.Errorf("%s%s: %d bytes of %d", name, extension, size, len(want))
			}
		}
	}
}
