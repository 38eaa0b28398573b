// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package examples tests what a reader may copy: every directory here is
// planned, and every link in the project's texts is followed.
package examples

import (
	"encoding/json"
	"io/fs"
	"log"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// modules are the examples that are only initialised and validated: others use
// them.
var modules = []string{"local-machine", "local-registry", "module-per-node/node"}

// TestExamplesSyntax parses every example.
func TestExamplesSyntax(t *testing.T) {
	t.Parallel()
	w := acctest.NewWorkspace(t, acctest.WorkspaceOptions{})
	if err := os.CopyFS(w.Dir, os.DirFS(".")); err != nil {
		t.Fatal(err)
	}
	w.Run("fmt", "-check", "-diff", "-recursive").MustSucceed()
}

func TestMain(m *testing.M) {
	if dir := os.Getenv(schemasVariable); dir != "" {
		if err := serveStandIn(dir); err != nil {
			log.Fatal(err)
		}
		return
	}
	acctest.Main(m)
}

// TestExamples plans every directory of examples as a reader would who copies
// it: validate, plan. Others run init. No server runs; so what is planned is a creation,
// and nothing that is not there stops it. Those that look at a server get one,
// and are applied.
func TestExamples(t *testing.T) {
	t.Parallel()
	dirs := exampleDirs(t)
	if len(dirs) == 0 {
		t.Fatal("no examples found")
	}
	for _, dir := range dirs {
		if _, ok := clouds[dir]; ok || dir == started {
			continue // they need providers of other projects, and have tests of their own
		}
		t.Run(dir, func(t *testing.T) {
			t.Parallel()
			// The provider needs no init here, so modules are got alone.
			w := acctest.NewWorkspace(t, acctest.WorkspaceOptions{})
			// All of them, because some use others as modules.
			if err := os.CopyFS(w.Dir, os.DirFS(".")); err != nil {
				t.Fatal(err)
			}
			w.Dir = filepath.Join(w.Dir, dir)
			offline(t, w.Dir)
			copyPKI(t, etcdtest.NewPKI(t), filepath.Join(w.Dir, "pki"), "root")
			remove(t, w, "import-by-identity.tf") // Terraform before 1.12 does not know it
			w.Run("get").MustSucceed()
			w.Run("validate", "-json").MustSucceed()
			remove(t, w, "import-by-string-id.tf") // there is nothing to import
			name := filepath.ToSlash(dir)
			look, ok := live[name]
			switch {
			case slices.Contains(modules, name): // other examples plan it
			case ok:
				look(t, w)
			default:
				if plan := w.Plan(); plan.ExitCode != 2 {
					t.Errorf("the plan's exit code is %d, want 2: there is something to create\n%s", plan.ExitCode, plan)
				}
			}
		})
	}
}

// private matches addresses of machines.
var private = regexp.MustCompile(`\b10\.\d+\.(\d+\.\d+)\b`)

// offline moves the machines of an example to addresses of this computer at which
// nothing answers, whatever the network of the test does with others.
func offline(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.tf"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		write(t, file, 0o600, private.ReplaceAll([]byte(read(t, file)), []byte("127.0.$1")))
	}
}

func remove(t *testing.T, w *acctest.Workspace, name string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(w.Dir, name)); err != nil {
		t.Fatal(err)
	}
}

// TestExamplesIndex finds examples that README.md does not list.
func TestExamplesIndex(t *testing.T) {
	index := read(t, "README.md")
	for _, dir := range exampleDirs(t) {
		if name, _, _ := strings.Cut(filepath.ToSlash(dir), "/"); !strings.Contains(index, "["+name+"]("+name) {
			t.Errorf("README.md does not list %s", name)
		}
	}
}

// TestExamplesOfEverything finds what the provider offers and no example
// shows.
func TestExamplesOfEverything(t *testing.T) {
	t.Parallel()
	w := acctest.NewWorkspace(t, acctest.WorkspaceOptions{Mirror: true})
	w.Write("main.tf", `
		terraform {
		  required_providers {
		    etcd = { source = "terraform-provider-etcd/etcd" }
		  }
		}
		provider "etcd" {}
	`)
	w.Init()
	out := w.Run("providers", "schema", "-json").MustSucceed().Stdout

	var schemas struct {
		Providers map[string]map[string]json.RawMessage `json:"provider_schemas"`
	}
	if err := json.Unmarshal(out, &schemas); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, kinds := range schemas.Providers {
		for kind, file := range map[string]string{
			"resource_schemas":           "resources/%/resource.tf",
			"data_source_schemas":        "data-sources/%/data-source.tf",
			"ephemeral_resource_schemas": "ephemeral-resources/%/ephemeral-resource.tf",
			"functions":                  "functions/%/function.tf",
		} {
			raw, ok := kinds[kind]
			if !ok {
				continue
			}
			var entries map[string]json.RawMessage
			if err := json.Unmarshal(raw, &entries); err != nil {
				t.Fatal(err)
			}
			for name := range entries {
				seen++
				if _, err := os.Stat(strings.ReplaceAll(file, "%", name)); err != nil {
					t.Errorf("%s has no example: %v", name, err)
				}
			}
		}
	}
	if seen == 0 {
		t.Fatalf("the provider offers nothing: %s", out)
	}
}

// exampleDirs returns the directories that hold a .tf file.
func exampleDirs(t *testing.T) []string {
	t.Helper()
	found := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path != "." && strings.HasPrefix(entry.Name(), ".") {
			return fs.SkipDir
		}
		if filepath.Ext(path) == ".tf" {
			found[filepath.Dir(path)] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(maps.Keys(found))
}
