// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package examples

import (
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

func (e template) render(t *testing.T, memberEnv string) []byte {
	t.Helper()
	v, diags := e.Value(&hcl.EvalContext{
		Functions: map[string]function.Function{"jsonencode": stdlib.JSONEncodeFunc},
		Variables: map[string]cty.Value{"member_env": cty.StringVal(memberEnv), "join_script_base64gzip": cty.StringVal(joinscript.Discovery().Base64Gzip)},
	})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return []byte(v.AsString())
}

// butane is the template of the ignition example with what it gives for harmless values.
type butane struct {
	template template
	harmless any
}

func newButane(t *testing.T) *butane {
	t.Helper()
	u := &butane{template: mustParse(t, "etcd.bu.tftpl", read(t, "ignition/etcd.bu.tftpl"))}
	u.harmless = u.parse(t, "ETCD_NAME=a\n")
	return u
}

// mustHaveItsKeys fails the test unless the result is what it is for harmless values, but
// for the contents of the file with the environment, which must be there as they were
// given.
func (u *butane) mustHaveItsKeys(t *testing.T, memberEnv string) {
	t.Helper()
	if got := u.parse(t, memberEnv); !reflect.DeepEqual(got, u.harmless) {
		t.Fatalf("with %q:\ngot  %v\nwant %v", memberEnv, got, u.harmless)
	}
}

// parse reads the result. The contents of the file with the environment are removed, if
// they are exactly that.
func (u *butane) parse(t *testing.T, memberEnv string) any {
	t.Helper()
	text := u.template.render(t, memberEnv)
	var parsed map[any]any
	if err := yaml.UnmarshalStrict(text, &parsed); err != nil {
		t.Fatalf("with %q: %v\n%s", memberEnv, err, text)
	}
	storage, _ := parsed["storage"].(map[any]any)
	files, _ := storage["files"].([]any)
	for _, f := range files {
		file, _ := f.(map[any]any)
		if contents, _ := file["contents"].(map[any]any); contents["inline"] == memberEnv {
			delete(contents, "inline")
			return parsed
		}
	}
	t.Fatalf("no file has %q:\n%s", memberEnv, text)
	return nil
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
