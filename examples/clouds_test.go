// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package examples

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
)

// TestRealProviders validates these examples with the providers themselves, plans
// where no account is needed, and compares the schemas with those of the
// stand-ins.
func TestRealProviders(t *testing.T) {
	t.Parallel()
	mirror := os.Getenv("ETCD_TEST_PROVIDERS")
	if mirror == "" {
		t.Skip("ETCD_TEST_PROVIDERS names no mirror of the providers that these examples need")
	}
	for example := range others {
		t.Run(example, func(t *testing.T) {
			t.Parallel()
			all, main := extracts(t), read(t, filepath.Join(example, "main.tf"))
			for _, e := range all {
				found, err := filepath.Glob(filepath.Join(mirror, "*", filepath.FromSlash(e.source)))
				if strings.Contains(main, `source = "`+e.source+`"`) && (err != nil || len(found) == 0) {
					t.Skipf("%s is not in %s", e.source, mirror)
				}
			}
			w := acctest.NewWorkspace(t, acctest.WorkspaceOptions{Mirror: true})
			mirrors := []string{"-plugin-dir=" + w.Mirror(), "-plugin-dir=" + mirror}
			if err := os.CopyFS(w.Dir, os.DirFS(".")); err != nil {
				t.Fatal(err)
			}
			w.Dir = filepath.Join(w.Dir, example)
			offline(t, w.Dir)
			setVariables(t, w, others[example])
			w.Init(mirrors...)
			w.Run("validate", "-json").MustSucceed()
			if example == "hetzner" { // other clouds log in to plan
				w.Env = append(w.Env, "HCLOUD_TOKEN="+strings.Repeat("0", 64), "HCLOUD_ENDPOINT=http://127.0.0.1:1/v1")
				if plan := w.Plan(); plan.ExitCode != 2 || len(plan.Diagnostics) != 1 || plan.Diagnostics[0].Summary != "Check block assertion known after apply" {
					t.Errorf("the plan is not one without warnings:\n%s", plan)
				}
			}
			var real struct {
				Providers map[string]map[string]any `json:"provider_schemas"`
			}
			if err := json.Unmarshal(w.Run("providers", "schema", "-json").MustSucceed().Stdout, &real); err != nil {
				t.Fatal(err)
			}
			for address, p := range real.Providers {
				for _, e := range all {
					if strings.HasSuffix(address, "/"+e.source) {
						if where := difference(e.text, p); where != "" {
							t.Errorf("testdata/%s-%s.json is not that of the provider: %s", e.name, e.version, where)
						}
					}
				}
			}
		})
	}
}

// difference is where the schema of a stand-in has something that the real one has not,
// or lacks something that is required there. It returns "" if there is none.
func difference(standIn, real any) string {
	is, isMap := standIn.(map[string]any)
	of, ofMap := real.(map[string]any)
	if !isMap || !ofMap {
		if reflect.DeepEqual(standIn, real) {
			return ""
		}
		return fmt.Sprintf(" is %v, and not %v", standIn, real)
	}
	for name, v := range is {
		if where := difference(v, of[name]); where != "" {
			return "." + name + where
		}
	}
	for name, v := range of {
		part, _ := v.(map[string]any)
		_, has := is[name]
		if least, _ := part["min_items"].(float64); !has && name != "deprecated" && (part["required"] == true || least > 0 || v == true) {
			return "." + name + " is missing"
		}
	}
	return ""
}
