// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package examples

import (
	"encoding/base64"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
	"go.yaml.in/yaml/v2"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/joinscript"
)

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
	zip64 := encode(joinscript.Encode)
	v, diags := e.Value(&hcl.EvalContext{
		Functions: map[string]function.Function{"base64encode": b64, "base64gzip": zip64, "jsonencode": stdlib.JSONEncodeFunc},
		Variables: map[string]cty.Value{
			"member_env": cty.StringVal(memberEnv), "join_script_base64gzip": cty.StringVal(joinscript.Discovery().Base64Gzip),
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
