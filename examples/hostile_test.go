// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package examples

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v2"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/environment"
)

// hostileInputs is how many there are with ETCD_TEST_FULL=1, and a fifth of them
// without: each of the pieces is then in each of the fields some twenty times.
const hostileInputs = 10_000

// Hostile names, URLs, tokens, paths, users, registrations and member lists are
// refused, or become user data with exactly the keys, files and variables that
// harmless ones give, in the template and by cloud_config. The provider itself
// validates and makes the nodes of one in five (ETCD_TEST_FULL=1: of
// all); of the others environment_file alone stands before the template.
func TestHostileUserData(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	u := newButane(t)
	harmless, _ := p.mustKeepItsKeys(t, map[string]string{"ETCD_NAME": "a"})
	random := rand.New(rand.NewPCG(17, 3))
	inputs, full := hostileInputs/5, os.Getenv("ETCD_TEST_FULL") != ""
	if full {
		inputs = hostileInputs
	}
	refused, taken, broken := 0, 0, 0
	for i := range inputs {
		in := hostileInput(random)
		made := i%5 == 0 || full
		env := in.variables()
		if made {
			env = p.environment(in)
		}
		if env == nil {
			refused++
			continue
		}
		file, err := p.environmentFile(env)
		if err != "" && made {
			t.Fatalf("%d: %+v: the environment %q cannot be written: %s", i, in, env, err)
		}
		if err != "" {
			refused++
			continue
		}
		if made {
			taken++
		}
		if got := readEnvironment(t, file); !reflect.DeepEqual(got, env) {
			t.Fatalf("%d: %+v: written as\n%s\nand read as %q, want %q", i, in, file, got, env)
		}
		u.mustHaveItsKeys(t, file)
		written, inFile := p.mustKeepItsKeys(t, env)
		if !reflect.DeepEqual(written, harmless) {
			t.Fatalf("%d: %+v:\ngot  %v\nwant %v", i, in, written, harmless)
		}
		for name, value := range env {
			if inFile[name] != value {
				t.Fatalf("%d: %+v: %s is %q, want %q", i, in, name, inFile[name], value)
			}
		}
	}
	// The inputs are hostile enough to break a template that encodes nothing,
	// and harmless enough for some to be taken.
	naive := mustParse(t, "naive", "write_files:\n  - path: /etc/etcd/member.env\n    content: |\n      ETCD_NAME=${member_env}\nruncmd: []\n")
	for range inputs / 10 {
		text := naive.render(t, hostileText(random))
		var parsed map[string]any
		if yaml.Unmarshal(text, &parsed) != nil || len(parsed) != 2 {
			broken++
		}
	}
	t.Logf("%d of %d inputs were refused; the provider took %d; %d of %d break a template that encodes nothing", refused, inputs, taken, broken, inputs/10)
	if refused < inputs/10 || inputs-refused < inputs/10 || taken < inputs/50 || broken < inputs/100 {
		t.Error("not hostile enough, or not harmless enough")
	}
}

// mustKeepItsKeys returns what cloud_config gives for the variables, without the
// contents of the file with them, and the variables in that file.
func (p *etcd) mustKeepItsKeys(t *testing.T, env map[string]string) (parsed map[string]any, inFile map[string]string) {
	t.Helper()
	text, refused := p.cloudConfig(env)
	if refused != "" {
		t.Fatalf("%q: %s", env, refused)
	}
	if err := yaml.UnmarshalStrict([]byte(text), &parsed); err != nil {
		t.Fatalf("%q: %v\n%s", env, err, text)
	}
	files, _ := parsed["write_files"].([]any)
	for _, f := range files {
		if file, _ := f.(map[any]any); file["path"] == "/etc/etcd/etcd.env" {
			content, _ := file["content"].(string)
			inFile = readEnvironment(t, content)
			delete(file, "content")
		}
	}
	return parsed, inFile
}

// Butane takes what the template gives, and makes the files of it.
func TestHostileUserDataButane(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath(filepath.Join("..", "bin", "butane"))
	if err != nil {
		t.Fatalf("%v: make bin/butane builds it", err)
	}
	u := newButane(t)
	paths := func(text []byte) (out []string) {
		cmd := exec.Command(program, "--strict")
		cmd.Stdin = bytes.NewReader(text)
		ignition, err := output(cmd)
		if err != nil {
			t.Fatalf("butane --strict: %v\n%s", err, text)
		}
		var parsed struct {
			Storage struct{ Files []struct{ Path string } }
			Systemd struct{ Units []struct{ Name string } }
		}
		if err := json.Unmarshal(ignition, &parsed); err != nil {
			t.Fatal(err)
		}
		for _, f := range parsed.Storage.Files {
			out = append(out, f.Path)
		}
		for _, unit := range parsed.Systemd.Units {
			out = append(out, unit.Name)
		}
		return out
	}
	want := paths(u.template.render(t, "ETCD_NAME=a\n"))
	random := rand.New(rand.NewPCG(17, 4))
	for tried := 0; tried < 20; {
		file := hostileText(random)
		if _, unfit := environment.Unfit(file); unfit {
			continue // environment_file refuses it
		}
		tried++
		if got := paths(u.template.render(t, file)); !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: %q, want %q", file, got, want)
		}
	}
}

// input is what users, members, registries and services can say.
type input struct {
	Name, PeerURL, Token, Endpoint, Path, User, ServiceURL, OtherName, OtherURL string
}

// variables are what an input would be in user data if nothing were refused.
func (in input) variables() map[string]string {
	return map[string]string{
		"ETCD_NAME": in.Name, "ETCD_DISCOVERY_TOKEN": in.Token, "ETCD_DISCOVERY_ENDPOINTS": in.Endpoint, "ETCD_DISCOVERY_CACERT": in.Path,
		"ETCD_DISCOVERY_USER": in.User, "ETCD_DISCOVERY": in.ServiceURL, "ETCD_JOIN_PEERS": in.OtherURL,
		"ETCD_INITIAL_CLUSTER": membership.FormatInitialCluster([]membership.Member{{ID: 2, Name: in.OtherName, PeerURLs: []string{in.OtherURL}}}),
	}
}

// hostileText is a text of characters that mean something to YAML, a shell,
// systemd or a terminal, between harmless ones.
func hostileText(random *rand.Rand) string {
	pieces := []string{
		"\n", "\r", "\r\n", "\u0085", "\u2028", "\u2029", "\t", "\x00", "\x1b[2J", "\x7f", "\u009b", "\n      ", "\nruncmd: [reboot]\n", "\u0085runcmd:\u0085- [ sh, -c, id ]\u0085",
		"\n  - path: /etc/cron.d/x\n    content: x\n", "\nETCD_INJECTED=1\n", "---\n", "...\n", ": ", " #", "- ", "{}", "[]", "&a", "*a", "!!python/object", "|", ">", "%", "@",
		"`id`", "$(id)", "${IFS}", "$HOME", `"`, `'`, `\`, `\\`, "\\\n", ";reboot", "&&", "||", "=", ",", "~", "../", "/", "é", "\u202e", "\ufeff", "日本", "${archive.url}", "%{ for x in y }",
		"a", "b", "0", "-", ".", "_", "node", "10.0.0.1", ":2380", "https://", "http://u:p@h:1",
	}
	var b strings.Builder
	for range 1 + random.IntN(6) {
		b.WriteString(pieces[random.IntN(len(pieces))])
	}
	return b.String()
}

// hostileInput puts a hostile text into some of the inputs.
func hostileInput(random *rand.Rand) input {
	in := input{
		Name: "a", PeerURL: "https://10.0.0.1:2380", Token: "mine", Endpoint: "https://registry:2379", Path: "/etc/etcd/pki/ca.pem", User: "discovery",
		ServiceURL: "https://discovery.example/5a3c7d0e4b1f4c52a9e86b1d0f7c2e93", OtherName: "b", OtherURL: "https://10.0.0.2:2380",
	}
	fields := reflect.ValueOf(&in).Elem()
	for range 1 + random.IntN(2) {
		field := fields.Field(random.IntN(fields.NumField()))
		text, where := hostileText(random), field.String()
		at := random.IntN(len(where) + 1)
		switch random.IntN(3) {
		case 0:
			text = where[:at] + text + where[at:]
		case 1:
			text = where + text
		}
		field.SetString(text)
	}
	return in
}
