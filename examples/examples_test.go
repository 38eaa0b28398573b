// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package examples tests what a reader may copy: every directory here is
// planned, and every link in the project's texts is followed.
package examples

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"log"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// modules are the examples that are only initialised and validated: others use
// them.
var modules = []string{"local-machine", "local-registry", "module-per-node/node", "modules/aws", "modules/certificates", "modules/hetzner", "modules/libvirt", "modules/local"}

func TestMain(m *testing.M) {
	if dir := os.Getenv(schemasVariable); dir != "" {
		if err := serveStandIn(dir); err != nil {
			log.Fatal(err)
		}
		return
	}
	acctest.Silence()
	acctest.Main(m)
}

// others are the examples that need providers of other projects, with what a reader
// writes into the call of the module.
var others = map[string]string{
	"aws":             "admin_networks = [\"192.0.0.7/32\"]\n" + sshKey,
	"hetzner":         "admin_networks = [\"192.0.0.7/32\"]\n" + sshKey,
	"libvirt":         sshKey,
	"getting-started": "",
}

// variables are the examples whose variables a reader writes.
var variables = map[string]string{
	"hosts":   "variable \"hosts\" {\n  default = {\n" + host("a", 10) + host("b", 11) + host("c", 12) + "  }\n}\n",
	"patroni": "variable \"passwords\" {\n  default = { replication = \"one\", restapi = \"two\" }\n}\n",
}

const (
	publicKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f someone@example.com"
	sshKey    = "ssh_public_key = \"" + publicKey + "\"\n"
)

// host is a host at which nothing answers.
func host(name string, n int) string {
	return fmt.Sprintf("    %s = { address = \"127.0.1.%d\", host_key = %q }\n", name, n, publicKey)
}

// called is a call of the module with other arguments, "" without any.
func called(arguments string) string {
	if arguments == "" {
		return ""
	}
	return "module \"etcd\" {\n" + arguments + "}\n"
}

// live are the examples whose plan asks a server, each with what an override file has in
// addition to its endpoints. alias is that of the provider, "" for none.
var live = map[string]struct{ alias, more string }{
	"backup":                             {},
	"data-sources/etcd_cluster":          {},
	"data-sources/etcd_discovery_token":  {"registry", "data \"etcd_discovery_token\" \"old\" {\n  url   = null\n  token = \"" + token + "\"\n}\n"},
	"data-sources/etcd_heartbeats":       {"", "data \"etcd_heartbeats\" \"now\" {\n  watch = \"2s\"\n}\n"},
	"ephemeral-resources/etcd_heartbeat": {},
}

// token is that of the example of the data source, and registers one of two members.
const token = "5a3c7d0e4b1f4c52a9e86b1d0f7c2e93"

// counted is how many changes a README.md announces.
var counted = regexp.MustCompile(`Plan: [^.\n]*\.`)

// TestExamples plans every directory of examples as a reader would who copies
// it: init, validate, plan. No server runs, but for the examples whose plan asks one, and
// stand-ins have the schemas of other projects' providers. So what is planned is a
// creation, as much of it as README.md says.
func TestExamples(t *testing.T) {
	t.Parallel()
	dirs := exampleDirs(t)
	if len(dirs) < 20 {
		t.Fatalf("only the examples %q", dirs)
	}
	binaries, env := standIns(t)
	index := must.Read(t, "README.md")
	for _, dir := range dirs {
		t.Run(dir, func(t *testing.T) {
			t.Parallel()
			name := filepath.ToSlash(dir)
			if top, _, _ := strings.Cut(name, "/"); !strings.Contains(index, "["+top+"]("+top) {
				t.Errorf("README.md does not list %s", top)
			}
			values, more := others[name]
			more = more || strings.HasPrefix(name, "modules/") || variables[name] != ""
			o := acctest.WorkspaceOptions{}
			if more {
				o = acctest.WorkspaceOptions{Mirror: true, Others: binaries}
			}
			w := copied(t, o, dir)
			copyPKI(t, filepath.Join(w.Dir, "pki"))
			if at, is := live[name]; is {
				b := etcdtest.Start(t, 1, etcdtest.Options{})
				etcdctl(t, b, "put", "/_etcd/registry/"+token+"/_config/size", "2")
				w.Write("live_override.tf", acctest.Access{Alias: at.alias, Endpoints: b.Endpoints()}.ProviderConfig()+at.more)
			}
			if name == "import-existing" {
				runningCluster(t, w)
			}
			remove(t, w, "import-by-identity.tf") // Terraform before 1.12 does not know it
			if more {
				w.Env = append(w.Env, env)
				w.Write("reader_override.tf", called(values)+variables[name])
				w.Init()
			} else {
				w.Run("get").MustSucceed() // the provider needs no init here, so modules are got alone
			}
			w.Run("validate", "-json").MustSucceed()
			remove(t, w, "import-by-string-id.tf") // there is nothing to import
			if !slices.Contains(modules, name) {   // other examples plan those
				mustPlanAsSaid(t, w, dir, more)
			}
		})
	}
}

// The tests that modules have for their users, with mocks, pass on each CLI.
func TestMocks(t *testing.T) {
	binaries, env := standIns(t)
	acctest.OnEach(t, func(t *testing.T, cli string) {
		tests, err := filepath.Glob("modules/*/tests")
		if err != nil || len(tests) < 3 {
			t.Fatalf("the modules have the tests %q (%v)", tests, err)
		}
		for _, dir := range tests {
			w := copied(t, acctest.WorkspaceOptions{Mirror: true, Others: binaries, CLI: cli}, filepath.Dir(dir))
			w.Env = append(w.Env, env)
			w.Init()
			w.Run("test").MustSucceed()
		}
	})
}

// TestRealProviders validates the examples of other projects' providers with these.
func TestRealProviders(t *testing.T) {
	t.Parallel()
	mirror := os.Getenv("ETCD_TEST_PROVIDERS")
	if mirror == "" {
		t.Skip("ETCD_TEST_PROVIDERS names no mirror of the providers that these examples need")
	}
	for example, values := range others {
		t.Run(example, func(t *testing.T) {
			t.Parallel()
			w := copied(t, acctest.WorkspaceOptions{Mirror: true}, example)
			w.Write("reader_override.tf", called(values))
			w.Init("-plugin-dir="+w.Mirror(), "-plugin-dir="+mirror)
			w.Run("validate", "-json").MustSucceed()
			if example == "hetzner" { // other clouds log in to plan
				w.Env = append(w.Env, "HCLOUD_TOKEN="+strings.Repeat("0", 64), "HCLOUD_ENDPOINT=http://127.0.0.1:1/v1")
				mustPlanAsSaid(t, w, example, true)
			}
		})
	}
}

// copied returns a workspace with all examples, because some use others as modules. A
// machine that Terraform creates is new: an example does not run "machine.sh up", which
// leaves a machine of the same contents alone. Its machines are moved to addresses of this
// computer at which nothing answers, whatever the network of the test does with others.
func copied(t *testing.T, o acctest.WorkspaceOptions, dir string) *acctest.Workspace {
	t.Helper()
	w := acctest.NewWorkspace(t, o)
	must.Succeed(t, os.CopyFS(w.Dir, os.DirFS(".")))
	w.Dir = filepath.Join(w.Dir, dir)
	files, err := filepath.Glob(filepath.Join(w.Dir, "*"))
	must.Succeed(t, err)
	for _, file := range files {
		if name := filepath.Base(file); filepath.Ext(name) == ".tf" || name == "boot.sh" {
			text := must.Read(t, file)
			if strings.Contains(text, `" up`) {
				t.Errorf("%s runs machine.sh up", file)
			}
			must.Write(t, file, private.ReplaceAllString(text, "127.0.$1"))
		}
	}
	return w
}

// private matches addresses of machines.
var private = regexp.MustCompile(`\b10\.\d+\.(\d+\.\d+)\b`)

// mustPlanAsSaid fails the test unless a plan creates something, and as much as the pages
// about an example say. Those with providers of other projects say it.
func mustPlanAsSaid(t *testing.T, w *acctest.Workspace, dir string, says bool) {
	t.Helper()
	plan := w.Plan()
	if plan.ExitCode != 2 {
		t.Fatalf("the plan's exit code is %d, want 2: there is something to create\n%s", plan.ExitCode, plan)
	}
	for _, page := range []string{filepath.Join(dir, "README.md"), "../docs/guides/" + dir + ".md"} {
		text, _ := os.ReadFile(page) // not all have one
		said := counted.FindString(string(text))
		if says && text != nil && said == "" || !strings.Contains(string(plan.Stdout), said) {
			t.Errorf("%s says %q, and the plan\n%s", page, said, plan)
		}
	}
}

// runningCluster starts what the example imports.
func runningCluster(t *testing.T, w *acctest.Workspace) {
	t.Helper()
	b := etcdtest.Start(t, 3, etcdtest.Options{Names: []string{"a", "b", "c"}, Version: etcdtest.V36})
	nodes := map[string]any{}
	for _, p := range b.Members() {
		nodes[p.Name] = map[string]string{"client_url": p.ClientURL(), "peer_url": p.PeerURL()}
	}
	id := regexp.MustCompile(`"ClusterID" : ([0-9a-f]+)`).FindStringSubmatch(etcdctl(t, b, "member", "list", "-w", "fields", "--hex"))
	if id == nil {
		t.Fatal("etcdctl prints no cluster ID")
	}
	setVariables(t, w, map[string]any{"nodes": nodes, "cluster_id": id[1], "etcd_version": etcdtest.Release(t, etcdtest.V36)})
}

func etcdctl(t *testing.T, b *etcdtest.Cluster, args ...string) string {
	t.Helper()
	out, err := b.Etcdctl(args...)
	must.Succeed(t, err)
	return out
}

func setVariables(t *testing.T, w *acctest.Workspace, values map[string]any) {
	t.Helper()
	text, err := json.Marshal(values)
	must.Succeed(t, err)
	w.Write("terraform.tfvars.json", string(text))
}

// copyPKI writes the files that the examples name: the CA, and a certificate for the
// provider and for Patroni.
func copyPKI(t *testing.T, dir string) {
	t.Helper()
	pki := etcdtest.NewPKI(t)
	must.Succeed(t, os.MkdirAll(dir, 0o755))
	files := map[string]string{"ca.pem": pki.CAFile}
	for _, name := range []string{"root", "patroni"} {
		cert := pki.Client(name)
		files[name+".pem"], files[name+"-key.pem"] = cert.CertFile, cert.KeyFile
	}
	for file, from := range files {
		must.Write(t, filepath.Join(dir, file), must.Read(t, from))
	}
}

func remove(t *testing.T, w *acctest.Workspace, name string) {
	t.Helper()
	must.Succeed(t, os.RemoveAll(filepath.Join(w.Dir, name)))
}

// TestExamplesOfEverything finds what the provider offers and no example
// shows.
func TestExamplesOfEverything(t *testing.T) {
	t.Parallel()
	schemas := schemasOfTheProvider(t)
	for file, names := range map[string][]string{
		"resources/%/resource.tf":                     slices.Collect(maps.Keys(schemas.ResourceSchemas)),
		"data-sources/%/data-source.tf":               slices.Collect(maps.Keys(schemas.DataSourceSchemas)),
		"ephemeral-resources/%/ephemeral-resource.tf": slices.Collect(maps.Keys(schemas.EphemeralResourceSchemas)),
		"list-resources/%/list-resource.tfquery.hcl":  slices.Collect(maps.Keys(schemas.ListResourceSchemas)),
		"functions/%/function.tf":                     slices.Collect(maps.Keys(schemas.Functions)),
	} {
		if len(names) == 0 {
			t.Errorf("the provider offers nothing for %s", file)
		}
		for _, name := range names {
			must.Read(t, strings.ReplaceAll(file, "%", name))
		}
	}
}

// schemasOfTheProvider are those that a CLI asks for.
func schemasOfTheProvider(t testing.TB) *tfprotov6.GetProviderSchemaResponse {
	t.Helper()
	server := providerserver.NewProtocol6(provider.New("test", nil, nil))()
	schemas, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	must.Succeed(t, err)
	return schemas
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
	must.Succeed(t, err)
	return slices.Sorted(maps.Keys(found))
}
