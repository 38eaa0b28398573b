// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package examples

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
)

// clouds are the examples that need providers of other projects, with what a
// reader writes into terraform.tfvars.
var clouds = map[string]map[string]any{
	"aws":     {"admin_networks": []string{"203.0.113.7/32"}, "ssh_public_key": sshKey},
	"hetzner": {"admin_networks": []string{"203.0.113.7/32"}, "ssh_public_key": sshKey},
	"libvirt": {"ssh_public_key": sshKey},
}

const sshKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f someone@example.com"

// cloud is a copy of one of them in a workspace.
func cloud(t *testing.T, example string, o acctest.WorkspaceOptions) *acctest.Workspace {
	t.Helper()
	w := acctest.NewWorkspace(t, o)
	if err := os.CopyFS(w.Dir, os.DirFS(example)); err != nil {
		t.Fatal(err)
	}
	offline(t, w.Dir)
	setVariables(t, w, clouds[example])
	return w
}

// TestExamplesOfClouds plans these examples with stand-ins for the providers of
// other projects. What is created is as much as the README says.
func TestExamplesOfClouds(t *testing.T) {
	t.Parallel()
	binaries, env := standIns(t)
	count := regexp.MustCompile(`(?m)^ *Plan: (\d+) to add, 0 to change, 0 to destroy\.$`)
	for example := range clouds {
		t.Run(example, func(t *testing.T) {
			t.Parallel()
			w := cloud(t, example, acctest.WorkspaceOptions{Mirror: true, Others: binaries})
			w.Env = append(w.Env, env)
			w.Init()
			w.Run("validate", "-json").MustSucceed()
			plan := w.Plan()
			if plan.ExitCode != 2 {
				t.Fatalf("the plan's exit code is %d, want 2: there is something to create\n%s", plan.ExitCode, plan)
			}
			for address, action := range plan.Actions() {
				if action != "create" {
					t.Errorf("%s: %s", address, action)
				}
			}
			said := count.FindStringSubmatch(w.Read("README.md"))
			if planned := strconv.Itoa(len(plan.Actions())); said == nil || said[1] != planned {
				t.Errorf("the plan creates %s resources, and README.md says %q", planned, said)
			}
		})
	}
}

// TestRealProviders validates these examples with the providers themselves, plans
// where no account is needed, and compares the schemas with those of the
// stand-ins.
func TestRealProviders(t *testing.T) {
	t.Parallel()
	mirror := os.Getenv("ETCD_TEST_PROVIDERS")
	if mirror == "" {
		t.Skip("ETCD_TEST_PROVIDERS names no mirror of the providers that these examples need")
	}
	all := extracts(t)
	for example := range clouds {
		t.Run(example, func(t *testing.T) {
			t.Parallel()
			main := read(t, filepath.Join(example, "main.tf"))
			for _, e := range all {
				found, err := filepath.Glob(filepath.Join(mirror, "*", filepath.FromSlash(e.source)))
				if strings.Contains(main, `source = "`+e.source+`"`) && (err != nil || len(found) == 0) {
					t.Skipf("%s is not in %s", e.source, mirror)
				}
			}
			w := cloud(t, example, acctest.WorkspaceOptions{Mirror: true})
			w.Init("-plugin-dir="+w.Mirror(), "-plugin-dir="+mirror)
			w.Run("validate", "-json").MustSucceed()
			if example == "hetzner" { // the others log in to plan
				w.Env = append(w.Env, "HCLOUD_TOKEN="+strings.Repeat("0", 64), "HCLOUD_ENDPOINT=http://127.0.0.1:1/v1")
				if plan := w.Plan(); plan.ExitCode != 2 || len(plan.Diagnostics) != 1 || plan.Diagnostics[0].Summary != "Check block assertion known after apply" {
					t.Errorf("the plan is not one without warnings:\n%s", plan)
				}
			}
			var real jsonSchemas
			if err := json.Unmarshal(w.Run("providers", "schema", "-json").MustSucceed().Stdout, &real); err != nil {
				t.Fatal(err)
			}
			for address, p := range real.Providers {
				for _, e := range all {
					if strings.HasSuffix(address, "/"+e.source) {
						mustHave(t, e, p)
					}
				}
			}
		})
	}
}

// mustHave fails the test unless a provider has what its stand-in has.
func mustHave(t *testing.T, e extract, real jsonProvider) {
	t.Helper()
	same := func(what string, standIn, real jsonSchema) {
		if standIn.Version != real.Version || !standIn.Block.isPartOf(real.Block) {
			t.Errorf("%s of testdata/%s-%s.json is not that of the provider", what, e.name, e.version)
		}
	}
	same("the provider block", e.of.Provider, real.Provider)
	for name, s := range e.of.Resources {
		same(name, s, real.Resources[name])
	}
	for name, s := range e.of.Data {
		same("data "+name, s, real.Data[name])
	}
}

// isPartOf reports whether a block has nothing that the real one has not, and
// all that is required.
func (b jsonBlock) isPartOf(real jsonBlock) bool {
	for name, n := range b.BlockTypes {
		r, ok := real.BlockTypes[name]
		if !ok || n.NestingMode != r.NestingMode || n.MinItems != r.MinItems || n.MaxItems != r.MaxItems || !n.Block.isPartOf(r.Block) {
			return false
		}
	}
	for name, r := range real.BlockTypes {
		if _, ok := b.BlockTypes[name]; !ok && r.MinItems > 0 {
			return false
		}
	}
	return arePartOf(b.Attributes, real.Attributes)
}

func arePartOf(some, real map[string]jsonAttribute) bool {
	for name, a := range some {
		r, ok := real[name]
		if !ok {
			return false
		}
		if a.NestedType != nil && r.NestedType != nil {
			if a.NestedType.NestingMode != r.NestedType.NestingMode || !arePartOf(a.NestedType.Attributes, r.NestedType.Attributes) {
				return false
			}
			a.NestedType, r.NestedType = nil, nil
		}
		if !reflect.DeepEqual(a, r) {
			return false
		}
	}
	for name, r := range real {
		if _, ok := some[name]; !ok && r.Required {
			return false
		}
	}
	return true
}
