// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package examples

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
	"go.yaml.in/yaml/v2"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/discovery"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/environment"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/lean"
)

const hostileInputs = 10_000

// Hostile names, URLs, tokens, paths, users, registrations and member lists are
// refused, or become user data with exactly the keys, files and variables that
// harmless ones give, in each of the three templates. The provider itself
// validates and makes the configurations of one in five (ETCD_TEST_FULL=1: of
// all); of the others environment_file alone stands before the templates.
func TestHostileUserData(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	templates := []*userData{
		newUserData(t, "cloud-init/cloud-init.yaml.tftpl", "write_files", "path"),
		newUserData(t, "provider/cloud-init.yaml.tftpl", "write_files", "path"),
		newUserData(t, "ignition/etcd.bu.tftpl", "storage.files", "path"),
	}
	random := rand.New(rand.NewPCG(17, 3))
	refused, broken := 0, 0
	for i := range hostileInputs {
		in := hostileInput(random)
		made := i%5 == 0 || os.Getenv("ETCD_TEST_FULL") != ""
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
		if got := readEnvironment(t, file); !reflect.DeepEqual(got, env) {
			t.Fatalf("%d: %+v: written as\n%s\nand read as %q, want %q", i, in, file, got, env)
		}
		for _, u := range templates {
			u.mustHaveItsKeys(t, file, hostileText(random))
		}
	}
	// The inputs are hostile enough to break a template that encodes nothing,
	// and harmless enough for some to be taken.
	naive := mustParse(t, "naive", "write_files:\n  - path: /etc/etcd/member.env\n    content: |\n      ETCD_NAME=${member_env}\nruncmd: []\n")
	for range hostileInputs / 10 {
		text := naive.render(t, hostileText(random), "")
		var parsed map[string]any
		if yaml.Unmarshal(text, &parsed) != nil || len(parsed) != 2 {
			broken++
		}
	}
	t.Logf("%d of %d inputs were refused; %d of %d break a template that encodes nothing", refused, hostileInputs, broken, hostileInputs/10)
	if refused < hostileInputs/10 || hostileInputs-refused < hostileInputs/10 || broken < hostileInputs/100 {
		t.Errorf("%d of %d inputs were refused, and %d of %d break a template that encodes nothing", refused, hostileInputs, broken, hostileInputs/10)
	}
}

// Butane takes what the template gives, and makes the files of it.
func TestHostileUserDataButane(t *testing.T) {
	t.Parallel()
	butane, err := exec.LookPath(filepath.Join("..", "bin", "butane"))
	if err != nil {
		t.Fatalf("%v: make bin/butane builds it", err)
	}
	u := newUserData(t, "ignition/etcd.bu.tftpl", "storage.files", "path")
	paths := func(text []byte) (out []string) {
		cmd := exec.Command(butane, "--strict")
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
	want := paths(u.template.render(t, "ETCD_NAME=a\n", "https://releases.example.com/etcd.tar.gz"))
	random := rand.New(rand.NewPCG(17, 4))
	for tried := 0; tried < 20; {
		file, archive := hostileText(random), hostileText(random)
		if _, unfit := environment.Unfit(file); unfit {
			continue // environment_file refuses it
		}
		tried++
		if got := paths(u.template.render(t, file, archive)); !reflect.DeepEqual(got, want) {
			t.Fatalf("%q, %q: %q, want %q", file, archive, got, want)
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

// etcd is the provider, spoken to as a CLI does.
type etcd struct {
	t       *testing.T
	server  tfprotov6.ProviderServer
	schemas map[string]tftypes.Type
}

func newProvider(t *testing.T) *etcd {
	t.Helper()
	p := &etcd{t: t, server: lean.Server(provider.New("test")()), schemas: map[string]tftypes.Type{}}
	schemas, err := p.server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for name, schema := range schemas.ResourceSchemas {
		p.schemas[name] = schema.ValueType()
	}
	config := p.dynamic(object(schemas.Provider.ValueType(), nil))
	configured, err := p.server.ConfigureProvider(t.Context(), &tfprotov6.ConfigureProviderRequest{TerraformVersion: "1.11.0", Config: config})
	if err != nil || refusedBy(configured.Diagnostics) != "" {
		t.Fatal(err, refusedBy(configured.Diagnostics))
	}
	return p
}

// environment returns the variables of a founder's machine, nil if the provider
// refuses to make them.
func (p *etcd) environment(in input) map[string]string {
	p.t.Helper()
	access := map[string]any{"ca_cert": in.Path, "cert": in.Path, "key": in.Path, "username": in.User}
	if p.refuses("etcd_discovery_token", map[string]any{
		"founders": []string{in.Name}, "token": in.Token, "advertised_endpoints": []string{in.Endpoint}, "machine_access": access,
	}) {
		return nil
	}
	variables := in.variables()
	delete(variables, "ETCD_NAME")
	endpoint, err := connection.ParseEndpoint(in.Endpoint, false)
	if err != nil {
		p.t.Fatalf("%q: taken by the plan, and then %v", in.Endpoint, err)
	}
	variables["ETCD_DISCOVERY_ENDPOINTS"] = endpoint
	if at, err := discovery.ParseServiceURL(in.ServiceURL); err == nil {
		variables["ETCD_DISCOVERY"] = at.URL()
	} else {
		delete(variables, "ETCD_DISCOVERY")
	}
	config := map[string]any{
		"name": in.Name, "peer_urls": []string{in.PeerURL},
		"bootstrap": map[string]any{"kind": "discovery", "protocol": "v3", "founders": []string{in.Name}, "complete": false, "environment": variables},
	}
	if p.refuses("etcd_member_config", config) {
		return nil
	}
	return p.create("etcd_member_config", config)
}

func (p *etcd) refuses(resource string, config map[string]any) bool {
	p.t.Helper()
	resp, err := p.server.ValidateResourceConfig(p.t.Context(), &tfprotov6.ValidateResourceConfigRequest{
		TypeName: resource, Config: p.dynamic(object(p.schemas[resource], config)),
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return refusedBy(resp.Diagnostics) != ""
}

// create plans and makes a resource, and returns its environment; nil if it is
// refused.
func (p *etcd) create(resource string, config map[string]any) map[string]string {
	p.t.Helper()
	typ := p.schemas[resource]
	given := object(typ, config)
	null := p.dynamic(tftypes.NewValue(typ, nil))
	planned, err := p.server.PlanResourceChange(p.t.Context(), &tfprotov6.PlanResourceChangeRequest{
		TypeName: resource, PriorState: null, Config: p.dynamic(given),
		ProposedNewState: p.dynamic(unknownWhere(given, "id", "founder", "environment", "initial_cluster", "join_script", "status")),
	})
	if err != nil {
		p.t.Fatal(err)
	}
	if refusedBy(planned.Diagnostics) != "" {
		return nil
	}
	made, err := p.server.ApplyResourceChange(p.t.Context(), &tfprotov6.ApplyResourceChangeRequest{
		TypeName: resource, PriorState: null, Config: p.dynamic(given), PlannedState: planned.PlannedState, PlannedPrivate: planned.PlannedPrivate,
	})
	if err != nil {
		p.t.Fatal(err)
	}
	if refusedBy(made.Diagnostics) != "" {
		return nil
	}
	state, err := made.NewState.Unmarshal(typ)
	if err != nil {
		p.t.Fatal(err)
	}
	var attributes, environment map[string]tftypes.Value
	if err := state.As(&attributes); err != nil {
		p.t.Fatal(err)
	}
	if err := attributes["environment"].As(&environment); err != nil {
		p.t.Fatal(err)
	}
	out := map[string]string{}
	for name, value := range environment {
		var s string
		if err := value.As(&s); err != nil {
			p.t.Fatal(err)
		}
		out[name] = s
	}
	return out
}

// environmentFile calls the function of that name.
func (p *etcd) environmentFile(environment map[string]string) (file, refused string) {
	p.t.Helper()
	typ := tftypes.Map{ElementType: tftypes.String}
	resp, err := p.server.CallFunction(p.t.Context(), &tfprotov6.CallFunctionRequest{
		Name: "environment_file", Arguments: []*tfprotov6.DynamicValue{p.dynamic(value(typ, environment))},
	})
	if err != nil {
		p.t.Fatal(err)
	}
	if resp.Error != nil {
		return "", resp.Error.Text
	}
	result, err := resp.Result.Unmarshal(tftypes.String)
	if err == nil {
		err = result.As(&file)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return file, ""
}

func (p *etcd) dynamic(v tftypes.Value) *tfprotov6.DynamicValue {
	p.t.Helper()
	d, err := tfprotov6.NewDynamicValue(v.Type(), v)
	if err != nil {
		p.t.Fatal(err)
	}
	return &d
}

func refusedBy(diags []*tfprotov6.Diagnostic) string {
	for _, d := range diags {
		if d.Severity == tfprotov6.DiagnosticSeverityError {
			return d.Summary + ": " + d.Detail
		}
	}
	return ""
}

// object is an object of a type with some attributes; the others are null.
func object(typ tftypes.Type, given map[string]any) tftypes.Value {
	attributes := map[string]tftypes.Value{}
	for name, t := range typ.(tftypes.Object).AttributeTypes {
		attributes[name] = value(t, given[name])
	}
	return tftypes.NewValue(typ, attributes)
}

func value(typ tftypes.Type, v any) tftypes.Value {
	switch v := v.(type) {
	case map[string]any:
		return object(typ, v)
	case map[string]string:
		elements := map[string]tftypes.Value{}
		for name, s := range v {
			elements[name] = tftypes.NewValue(tftypes.String, s)
		}
		return tftypes.NewValue(typ, elements)
	case []string:
		var elements []tftypes.Value
		for _, s := range v {
			elements = append(elements, tftypes.NewValue(tftypes.String, s))
		}
		return tftypes.NewValue(typ, elements)
	}
	return tftypes.NewValue(typ, v)
}

// unknownWhere is an object with some attributes unknown.
func unknownWhere(v tftypes.Value, names ...string) tftypes.Value {
	var attributes map[string]tftypes.Value
	if err := v.As(&attributes); err != nil {
		panic(err)
	}
	for _, name := range names {
		attributes[name] = tftypes.NewValue(attributes[name].Type(), tftypes.UnknownValue)
	}
	return tftypes.NewValue(v.Type(), attributes)
}

// template is a file as Terraform's templatefile reads it.
type template struct{ hclsyntax.Expression }

func mustParse(t *testing.T, name, text string) template {
	t.Helper()
	parsed, diags := hclsyntax.ParseTemplate([]byte(text), name, hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return template{parsed}
}

// joinScript stands for that of the provider, which is a fixed text.
const joinScript = "#!/bin/sh\necho \"$ETCD_NAME\"\n"

func (e template) render(t *testing.T, memberEnv, archive string) []byte {
	t.Helper()
	encode := func(f func(string) string) function.Function {
		return function.New(&function.Spec{
			Params: []function.Parameter{{Name: "text", Type: cty.String}}, Type: function.StaticReturnType(cty.String),
			Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
				return cty.StringVal(f(args[0].AsString())), nil
			},
		})
	}
	b64 := encode(func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) })
	v, diags := e.Value(&hcl.EvalContext{
		Functions: map[string]function.Function{"base64encode": b64, "base64gzip": b64, "jsonencode": stdlib.JSONEncodeFunc},
		Variables: map[string]cty.Value{
			"member_env": cty.StringVal(memberEnv), "join_script": cty.StringVal(joinScript),
			"archive": cty.ObjectVal(map[string]cty.Value{"url": cty.StringVal(archive), "sha256": cty.StringVal("0000")}),
		},
	})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return []byte(v.AsString())
}

// userData is a template with what it gives for harmless values.
type userData struct {
	name     string
	template template
	harmless any
	files    string
	path     string
}

func newUserData(t *testing.T, name, files, path string) *userData {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	u := &userData{name: name, template: mustParse(t, name, string(text)), files: files, path: path}
	u.harmless = u.parse(t, "ETCD_NAME=a\n", "https://releases.example.com/etcd.tar.gz")
	return u
}

// mustHaveItsKeys fails the test unless user data is what it is for harmless
// values, but for the contents of the two files that hold those, which must be
// there as they were given.
func (u *userData) mustHaveItsKeys(t *testing.T, memberEnv, archive string) {
	t.Helper()
	if got := u.parse(t, memberEnv, archive); !reflect.DeepEqual(got, u.harmless) {
		t.Fatalf("%s, with %q and %q:\ngot  %v\nwant %v", u.name, memberEnv, archive, got, u.harmless)
	}
}

// parse reads user data. The contents that hold the two values are replaced by
// marks, if they hold exactly those.
func (u *userData) parse(t *testing.T, memberEnv, archive string) any {
	t.Helper()
	text := u.template.render(t, memberEnv, archive)
	var parsed map[any]any
	if err := yaml.UnmarshalStrict(text, &parsed); err != nil {
		t.Fatalf("%s, with %q and %q: %v\n%s", u.name, memberEnv, archive, err, text)
	}
	at := parsed
	parts := strings.Split(u.files, ".")
	for _, part := range parts[:len(parts)-1] {
		at, _ = at[part].(map[any]any)
	}
	files, _ := at[parts[len(parts)-1]].([]any)
	marked := 0
	for _, f := range files {
		file, _ := f.(map[any]any)
		key, content := "content", file["content"]
		if contents, ok := file["contents"].(map[any]any); ok {
			file, key, content = contents, "inline", contents["inline"]
			if source, ok := contents["source"].(string); ok {
				file, key, content = contents, "source", strings.TrimPrefix(source, "data:;base64,")
			}
		}
		is, _ := content.(string)
		if file["encoding"] == "b64" || key == "source" {
			decoded, err := base64.StdEncoding.DecodeString(is)
			if err != nil {
				t.Fatal(err)
			}
			is = string(decoded)
		}
		switch is {
		case memberEnv:
			file[key] = "MEMBER_ENV"
			marked++
		case archive + "\n0000\n":
			file[key] = "ARCHIVE"
			marked++
		}
	}
	if marked == 0 {
		t.Fatalf("%s has no file with %q", u.name, memberEnv)
	}
	return parsed
}

// readEnvironment reads a file of environment_file as systemd does, line by
// line.
func readEnvironment(t *testing.T, file string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for line := range strings.Lines(file) {
		name, value, ok := strings.Cut(unquoted(strings.TrimSuffix(line, "\n")), "=")
		if _, twice := out[name]; !ok || twice {
			t.Fatalf("%q is no assignment, or the second", line)
		}
		out[name] = value
	}
	return out
}
