// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package userdata

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v2"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/joinscript"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/must"
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
			out[key] = must.Read(t, filepath.Join("testdata", "tls", name))
		}
		return out
	}
	return map[string]map[string]any{
		"paths":    {"etcd": aRelease(), "tls": paths()},
		"official": {"tls": paths()},
		// Its bytes are the encoder's, which no version of Go changes.
		"compressed": {"tls": paths(), "compress": true},
		"text":       {"etcd": aRelease(), "tls": inline("server")},
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
		{"static, paths of certificates", joinscript.Static(), paths(), 11 << 10},
		{"static, certificates", joinscript.Static(), inline, 15 << 10},
		{"restore, certificates", joinscript.Restore(), inline, 16 << 10},
		{"discovery, paths of certificates", joinscript.Discovery(), paths(), 15 << 10},
		{"discovery, certificates", joinscript.Discovery(), inline, 17 << 10},
	} {
		o, _, err := Parse(map[string]any{"etcd": aRelease(), "tls": c.tls})
		must.Succeed(t, err)
		for extension, write := range writers {
			text, err := write(member(Format, c.script.Base64Gzip), o)
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

func TestParse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		given   map[string]any
		path    string
		problem Problem
		unknown bool
	}{
		"least":                      {given: map[string]any{"etcd": aRelease()}},
		"of the image":               {given: map[string]any{"etcd": map[string]any{"path": "/usr/bin"}}},
		"nulls":                      {given: map[string]any{"etcd": aRelease(), "tls": nil, "peer_tls": nil, "data_dir": nil, "data_disk": nil, "environment": nil, "extra": nil}},
		"official release":           {given: map[string]any{}},
		"misspelt":                   {given: map[string]any{"etcd": aRelease(), "datadir": "/data"}, path: "datadir", problem: UnknownOption},
		"misspelt, not known":        {given: map[string]any{"etcd": Unknown{}, "datadir": Unknown{}}, path: "datadir", problem: UnknownOption, unknown: true},
		"misspelt inside":            {given: map[string]any{"etcd": map[string]any{"url": "https://a/b", "sha": "x"}}, path: "etcd.sha", problem: UnknownOption},
		"both ways":                  {given: map[string]any{"etcd": map[string]any{"url": "https://a/b", "path": "/usr/bin"}}, path: "etcd", problem: EitherOr},
		"no checksum":                {given: map[string]any{"etcd": map[string]any{"url": "https://a/b"}}, path: "etcd.sha256", problem: MissingOption},
		"checksum not known":         {given: map[string]any{"etcd": map[string]any{"url": "https://a/b", "sha256": Unknown{}}}, unknown: true},
		"plain http":                 {given: map[string]any{"etcd": map[string]any{"url": "http://a/b", "sha256": strings.Repeat("ab", 32)}}, path: "etcd.url", problem: NotHTTPS},
		"password in the URL":        {given: map[string]any{"etcd": map[string]any{"url": "https://u:p@a/b", "sha256": strings.Repeat("ab", 32)}}, path: "etcd.url", problem: NotHTTPS},
		"checksum in capitals":       {given: map[string]any{"etcd": map[string]any{"url": "https://a/b", "sha256": strings.Repeat("AB", 32)}}, path: "etcd.sha256", problem: NotSHA256},
		"a text in place of etcd":    {given: map[string]any{"etcd": "3.6.16"}, path: "etcd", problem: NotObject},
		"relative path":              {given: map[string]any{"etcd": aRelease(), "data_dir": "data"}, path: "data_dir", problem: NotPath},
		"path with a blank":          {given: map[string]any{"etcd": aRelease(), "data_dir": "/my data"}, path: "data_dir", problem: NotPath},
		"path with a specifier":      {given: map[string]any{"etcd": aRelease(), "data_dir": "/%h"}, path: "data_dir", problem: NotPath},
		"path with dots":             {given: map[string]any{"etcd": aRelease(), "data_dir": "/var/lib/../etcd"}, path: "data_dir", problem: NotPath},
		"empty path":                 {given: map[string]any{"etcd": aRelease(), "data_dir": ""}, path: "data_dir", problem: NotPath},
		"the root":                   {given: map[string]any{"etcd": aRelease(), "data_dir": "/"}, path: "data_dir", problem: NotPath},
		"a number as a path":         {given: map[string]any{"etcd": aRelease(), "data_dir": int64(1)}, path: "data_dir", problem: NotText},
		"path not known":             {given: map[string]any{"etcd": aRelease(), "data_dir": Unknown{}}, unknown: true},
		"disk":                       {given: map[string]any{"etcd": aRelease(), "data_disk": map[string]any{"device": "/dev/disk/by-id/scsi-0HC_Volume_1", "filesystem": "xfs"}}},
		"disk without a device":      {given: map[string]any{"etcd": aRelease(), "data_disk": map[string]any{}}, path: "data_disk.device", problem: MissingOption},
		"disk with another system":   {given: map[string]any{"etcd": aRelease(), "data_disk": map[string]any{"device": "/dev/vdb", "filesystem": "ntfs"}}, path: "data_disk.filesystem", problem: NotFilesystem},
		"paths of certificates":      {given: map[string]any{"etcd": aRelease(), "tls": map[string]any{"ca": "/a", "cert": "/b", "key": "/c"}}},
		"key missing":                {given: map[string]any{"etcd": aRelease(), "tls": map[string]any{"ca": "/a", "cert": "/b"}}, path: "tls.key", problem: MissingOption},
		"key that is no key":         {given: map[string]any{"etcd": aRelease(), "tls": map[string]any{"ca": "/a", "cert": "/b", "key": certificate}}, path: "tls.key", problem: NotPEM},
		"key whose begin is lost":    {given: map[string]any{"etcd": aRelease(), "tls": map[string]any{"ca": "/a", "cert": "/b", "key": "secret\nsecret"}}, path: "tls.key", problem: NotPEM},
		"key in base64":              {given: map[string]any{"etcd": aRelease(), "tls": map[string]any{"ca": "/a", "cert": "/b", "key": "secret+/="}}, path: "tls.key", problem: NotPEM},
		"key and more":               {given: map[string]any{"etcd": aRelease(), "tls": map[string]any{"ca": "/a", "cert": certificate + "more"}}, path: "tls.cert", problem: NotPEM},
		"key not known":              {given: map[string]any{"etcd": aRelease(), "tls": map[string]any{"ca": "/a", "cert": "/b", "key": Unknown{}}}, unknown: true},
		"variable":                   {given: map[string]any{"etcd": aRelease(), "environment": map[string]any{"ETCD_LOG_LEVEL": "debug"}}},
		"variable not of etcd":       {given: map[string]any{"etcd": aRelease(), "environment": map[string]any{"GOGC": "1"}}, path: "environment", problem: NotVariable},
		"variable of the start":      {given: map[string]any{"etcd": aRelease(), "environment": map[string]any{"ETCD_INITIAL_CLUSTER_STATE": "new"}}, path: "environment.ETCD_INITIAL_CLUSTER_STATE", problem: ReservedVariable},
		"force new cluster":          {given: map[string]any{"etcd": aRelease(), "environment": map[string]any{"ETCD_FORCE_NEW_CLUSTER": "true"}}, path: "environment.ETCD_FORCE_NEW_CLUSTER", problem: ReservedVariable},
		"something unknown in extra": {given: map[string]any{"etcd": aRelease(), "extra": map[string]any{"runcmd": []any{map[string]any{"a": Unknown{}}}}}, unknown: true},
		"compressed":                 {given: map[string]any{"etcd": aRelease(), "compress": true}},
		"compressed, not known":      {given: map[string]any{"etcd": aRelease(), "compress": Unknown{}}, unknown: true},
		"compressed by a text":       {given: map[string]any{"etcd": aRelease(), "compress": "true"}, path: "compress", problem: NotBool},
		"extra that is a list":       {given: map[string]any{"etcd": aRelease(), "extra": []any{}}, path: "extra", problem: NotObject},
	} {
		_, known, err := Parse(c.given)
		var e *OptionError
		switch {
		case c.problem == "" && (err != nil || known == c.unknown):
			t.Errorf("%s: known %v, %v", name, known, err)
		case c.problem != "" && (!errors.As(err, &e) || e.Path != c.path || e.Problem != c.problem):
			t.Errorf("%s: %v, want %s: %s", name, err, c.path, c.problem)
		case e != nil && strings.Contains(e.Value, "secret"):
			t.Errorf("%s: shows %q", name, e.Value)
		}
	}
}

// Test that a machine whose options do not say where etcd comes from downloads the
// release of its version, and that one without a valid version is refused.
func TestOfficialRelease(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		given   map[string]any
		version string
		want    string
		problem Problem
	}{
		{given: map[string]any{}, version: "3.6.16", want: "ETCD_JOIN_RELEASE_URL=https://github.com/etcd-io/etcd/releases/download/v3.6.16\n"},
		{given: map[string]any{"etcd": nil}, version: "3.7.0-rc.1", want: "ETCD_JOIN_RELEASE_URL=https://github.com/etcd-io/etcd/releases/download/v3.7.0-rc.1\n"},
		{given: map[string]any{"etcd": aRelease()}, version: "3.6.16", want: "ETCD_JOIN_RELEASE_URL=https://example.com/etcd.tar.gz\n"},
		{given: map[string]any{"etcd": map[string]any{"path": "/usr/bin"}}, version: "3.6.16", want: "ETCD_JOIN_BIN=/usr/bin\n"},
		{given: map[string]any{}, problem: NoVersion},
		{given: map[string]any{}, version: "3.6", problem: NotVersion},
		{given: map[string]any{}, version: "3.6.16/../x", problem: NotVersion},
	} {
		o, _, err := Parse(c.given)
		must.Succeed(t, err)
		m, err := newMachine(Node{Format: Format, Version: c.version}, o, "/bin")
		var e *OptionError
		if c.problem != "" {
			if !errors.As(err, &e) || e.Problem != c.problem {
				t.Errorf("%v with version %q: %v, want %s", c.given, c.version, err, c.problem)
			}
			continue
		}
		file := m.files[len(m.files)-1]
		path := c.given["etcd"] != nil && o.bin != ""
		if err != nil || !strings.Contains(file.content, c.want) || strings.Contains(m.unit, " install\n") == path || path && strings.Contains(file.content, "RELEASE") {
			t.Errorf("%v with version %q: %v\n%s\n%s", c.given, c.version, err, file.content, m.unit)
		}
	}
}

// Test that etcd keeps the history of an hour, unless the user says otherwise: each
// variable of the user wins, and the mode of one without the retention of the other is
// refused.
func TestCompaction(t *testing.T) {
	t.Parallel()
	const mode, retention = "ETCD_AUTO_COMPACTION_MODE", "ETCD_AUTO_COMPACTION_RETENTION"
	for _, c := range []struct {
		given map[string]any
		want  []string // none if it is refused
	}{
		{nil, []string{retention + "=1h"}},
		{map[string]any{mode: "periodic"}, []string{mode + "=periodic", retention + "=1h"}},
		{map[string]any{retention: "8h"}, []string{retention + "=8h"}},
		{map[string]any{retention: "0"}, []string{retention + "=0"}},
		{map[string]any{retention: ""}, []string{retention + "="}},
		{map[string]any{mode: "revision", retention: "1000"}, []string{mode + "=revision", retention + "=1000"}},
		{map[string]any{mode: "revision"}, nil},
	} {
		o, _, err := Parse(map[string]any{"etcd": aRelease(), "environment": c.given})
		must.Succeed(t, err)
		m, err := newMachine(Node{Format: Format}, o, "/bin")
		var e *OptionError
		if c.want == nil {
			if !errors.As(err, &e) || e.Path != "environment."+retention || e.Problem != MissingOption {
				t.Errorf("%v: %v", c.given, err)
			}
			continue
		}
		must.Succeed(t, err)
		var got []string
		for line := range strings.Lines(m.files[len(m.files)-1].content) {
			if strings.Contains(line, "AUTO_COMPACTION") {
				got = append(got, strings.TrimSuffix(line, "\n"))
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%v: %q, want %q", c.given, got, c.want)
		}
	}
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
