// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package examples

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/joinscript"
)

// Butane takes what the template of Ignition gives for every value, and makes the files
// of it: the template encodes what it inserts.
func TestTemplateOfIgnition(t *testing.T) {
	t.Parallel()
	text := read(t, "ignition/etcd.bu.tftpl")
	inserted := regexp.MustCompile(`[$%]\{.*`).FindAllString(text, -1)
	if want := []string{"${jsonencode(member_env)}", "${join_script_base64gzip}"}; !slices.Equal(inserted, want) {
		t.Errorf("the template inserts %q, want %q", inserted, want)
	}
	template, diags := hclsyntax.ParseTemplate([]byte(text), "etcd.bu.tftpl", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	butane, err := exec.LookPath(filepath.Join("..", "bin", "butane"))
	if err != nil {
		t.Fatalf("%v: make bin/butane builds it", err)
	}
	for _, environment := range []string{"ETCD_NAME=a\n", "ETCD_NAME=\"a: b\" # '\\\"{}[]&*!|>%@`\n      x\n  - path: /etc/x\n---\n"} {
		rendered, diags := template.Value(&hcl.EvalContext{
			Functions: map[string]function.Function{"jsonencode": stdlib.JSONEncodeFunc},
			Variables: map[string]cty.Value{"member_env": cty.StringVal(environment), "join_script_base64gzip": cty.StringVal(joinscript.Discovery().Base64Gzip)},
		})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		cmd := exec.Command(butane, "--strict")
		cmd.Stdin = bytes.NewReader([]byte(rendered.AsString()))
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		ignition, err := cmd.Output()
		if err != nil {
			t.Fatalf("butane --strict: %v\n%s", err, &stderr)
		}
		var made struct {
			Storage struct{ Files []struct{ Path string } }
			Systemd struct{ Units []struct{ Name string } }
		}
		must(t, json.Unmarshal(ignition, &made))
		if f, u := made.Storage.Files, made.Systemd.Units; len(f) != 2 || f[0].Path != "/etc/etcd/member.env" || f[1].Path != "/usr/local/bin/etcd-join" || len(u) != 1 || u[0].Name != "etcd.service" {
			t.Errorf("with %q: %+v", environment, made)
		}
	}
}
