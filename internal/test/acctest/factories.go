// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package acctest contains the shared parts of the acceptance tests: it runs
// the provider under a real Terraform or OpenTofu, and configures it. Its own
// tests are about the lives of members: how they join, fail, are replaced,
// restored and removed. Those in package commands are about plans and states.
package acctest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// ProtoV6ProviderFactories serves the provider in the process of the test, for
// resource.TestCase. Its connections are closed when the test ends.
func ProtoV6ProviderFactories(t testing.TB) map[string]func() (tfprotov6.ProviderServer, error) {
	t.Helper()
	pool := &connection.Pool{}
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Errorf("closing connections: %v", err)
		}
	})
	return map[string]func() (tfprotov6.ProviderServer, error){
		"etcd": func() (tfprotov6.ProviderServer, error) {
			return provider.Server(provider.New("test", pool, backend.NewRun())), nil
		},
	}
}

// Silence turns off the log of providers that this process serves. Call it before.
func Silence() {
	for _, name := range []string{"SDK", "SDK_PROTO", "SDK_FRAMEWORK", "PROVIDER_ETCD"} {
		_ = os.Setenv("TF_LOG_"+name, "OFF")
	}
}

// Serve serves providers by their addresses until the test ends, and returns the variable
// that tells the CLI where they are: at the addresses that via returns for theirs, unless it is
// nil. The CLI uses one provider for all walks of a command.
func Serve(t testing.TB, providers map[string]tfprotov6.ProviderServer, via func(net.Addr) net.Addr) string {
	t.Helper()
	found := map[string]any{}
	for address, p := range providers {
		ctx, end := context.WithCancel(context.Background())
		at, closed := make(chan *plugin.ReattachConfig), make(chan struct{})
		go func() {
			_ = tf6server.Serve(address, func() tfprotov6.ProviderServer { return p },
				tf6server.WithDebug(ctx, at, closed), tf6server.WithGoPluginLogger(hclog.NewNullLogger()), tf6server.WithoutLogStderrOverride())
		}()
		t.Cleanup(func() {
			end()
			<-closed
		})
		c := <-at
		addr := c.Addr
		if via != nil {
			addr = via(addr)
		}
		found[address] = map[string]any{
			"Protocol": c.Protocol, "ProtocolVersion": c.ProtocolVersion, "Pid": c.Pid, "Test": true,
			"Addr": map[string]string{"Network": addr.Network(), "String": addr.String()},
		}
	}
	text, err := json.Marshal(found)
	must.Succeed(t, err)
	return "TF_REATTACH_PROVIDERS=" + string(text)
}

// Required is the block that names the provider.
const Required = `terraform {
  required_providers {
    etcd = {
      source = "terraform-provider-etcd/etcd"
    }
  }
}
`

// Permissions are the commands of the guide "Network and security" that make the users of the
// provider with the least permissions.
func Permissions(tb testing.TB) (commands []string) {
	tb.Helper()
	_, section, _ := strings.Cut(must.Read(tb, filepath.Join(etcdtest.ModuleRoot(tb), "templates", "guides", "network-and-security.md")), "\n## Permissions\n")
	section, _, _ = strings.Cut(section, "\n### ")
	for line := range strings.Lines(section) {
		if strings.HasPrefix(line, "etcdctl ") {
			commands = append(commands, strings.TrimSpace(line))
		}
	}
	if len(commands) < 20 {
		tb.Fatalf("the guide has %d commands", len(commands))
	}
	return commands
}

// Access is how a configuration reaches a cluster.
type Access struct {
	// Alias is the alias of the provider block, or "" for none.
	Alias     string
	Endpoints []string
	// PKI is nil without TLS. Cert is the client certificate to present.
	PKI  *etcdtest.PKI
	Cert etcdtest.Cert
	// Username and Password are empty without authentication.
	Username, Password string
	// Extra is additional HCL for the provider block.
	Extra string
}

// ProviderConfig returns the provider block.
func (a Access) ProviderConfig() string {
	var b strings.Builder
	b.WriteString("provider \"etcd\" {\n")
	set := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "  %s = %q\n", name, value)
		}
	}
	set("alias", a.Alias)
	if a.Endpoints != nil {
		quoted := make([]string, len(a.Endpoints))
		for i, e := range a.Endpoints {
			quoted[i] = strconv.Quote(e)
		}
		fmt.Fprintf(&b, "  endpoints = [%s]\n", strings.Join(quoted, ", "))
	}
	if a.PKI != nil {
		set("ca_cert", a.PKI.CAFile)
	}
	set("cert", a.Cert.CertFile)
	set("key", a.Cert.KeyFile)
	set("username", a.Username)
	set("password", a.Password)
	if a.Extra != "" {
		b.WriteString("  " + a.Extra + "\n")
	}
	b.WriteString("}\n")
	return b.String()
}

// providerSource is the address of the provider in configurations, below the
// registry host of the CLI.
const providerSource = "terraform-provider-etcd/etcd"

// mirrorVersion is the version of the built provider in a mirror.
const mirrorVersion = "0.0.1"

// CLI returns the Terraform or OpenTofu to run: that of TF_ACC_TERRAFORM_PATH,
// or the first of terraform and tofu on PATH. It fails the test if there is none.
func CLI(tb testing.TB) string {
	tb.Helper()
	for _, name := range []string{os.Getenv("TF_ACC_TERRAFORM_PATH"), "terraform", "tofu"} {
		if name == "" {
			continue
		}
		if path, err := exec.LookPath(name); err == nil {
			return path
		} else if name == os.Getenv("TF_ACC_TERRAFORM_PATH") {
			tb.Fatalf("acctest: TF_ACC_TERRAFORM_PATH: %v", err)
		}
	}
	tb.Fatal("acctest: neither terraform nor tofu is on PATH; set TF_ACC_TERRAFORM_PATH")
	return ""
}

// OnEach runs a test with the CLI of the run, and with OpenTofu if that is another one.
func OnEach(t *testing.T, test func(t *testing.T, cli string)) {
	t.Parallel()
	cli := CLI(t)
	clis := map[string]string{filepath.Base(cli): cli}
	if !strings.Contains(filepath.Base(cli), "tofu") {
		clis["tofu"] = filepath.Join(etcdtest.ModuleRoot(t), "bin", "tofu")
	}
	for name, cli := range clis {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := os.Stat(cli); err != nil {
				t.Skipf("no %s: make tools builds it", name)
			}
			test(t, cli)
		})
	}
}

// providerHost returns the registry host of the CLI.
func providerHost(cli string) string {
	own := "registry.terraform.io"
	if strings.Contains(filepath.Base(cli), "tofu") {
		own = "registry.opentofu.org"
	}
	return cmp.Or(os.Getenv("TF_ACC_PROVIDER_HOST"), own)
}

// built is the provider of this test binary.
var built struct {
	once sync.Once
	dir  string
	err  error
}

// ProviderBinary builds the provider, once for each test binary, and returns
// its path. [Main] removes it.
func ProviderBinary(tb testing.TB) string {
	tb.Helper()
	built.once.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "acctest-provider-"); built.err != nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), etcdtest.WaitLimit)
		defer cancel()
		args, cgo := []string{"build", "-trimpath", "-buildvcs=false", "-o", built.dir + string(filepath.Separator)}, "CGO_ENABLED=0"
		if underRace() {
			args, cgo = append(args, "-race"), "CGO_ENABLED=1"
			// Its standard error would be lost in the log of the CLI, which passes the
			// environment on.
			if built.err = os.Setenv("GORACE", "log_path="+filepath.Join(built.dir, raceReports)); built.err != nil {
				return
			}
		} else {
			args = append(args, "-ldflags=-s -w")
		}
		build := exec.CommandContext(ctx, "go", append(args, ".")...)
		build.Dir = etcdtest.ModuleRoot(tb)
		build.Env = append(os.Environ(), cgo)
		if out, err := build.CombinedOutput(); err != nil {
			built.err = fmt.Errorf("go build: %w\n%s", err, out)
		}
	})
	if built.err != nil {
		tb.Fatalf("acctest: cannot build the provider: %v", built.err)
	}
	return filepath.Join(built.dir, "terraform-provider-etcd")
}

// Main runs the tests of a package and removes their shared files.
func Main(m *testing.M) {
	code := m.Run()
	if built.dir != "" {
		if races(built.dir) && code == 0 {
			fmt.Fprintln(os.Stderr, "FAIL: data races in the provider")
			code = 1
		}
		_ = os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

func mirrorIn(dir string) string { return filepath.Join(dir, "mirror") }

// cliConfig writes a CLI configuration for the workspace, so that personal
// settings have no effect. With a mirror, init installs the provider, as for a
// user. Without one, the CLI starts the built provider, and there is no init.
func cliConfig(tb testing.TB, dir string, o WorkspaceOptions) string {
	tb.Helper()
	host, binary, text := providerHost(o.CLI), "", ""
	if !o.Served {
		binary = ProviderBinary(tb)
	}
	switch {
	case o.Served:
	case o.Mirror:
		root := mirrorIn(dir)
		mirror := func(address, binary string) {
			at := filepath.Join(root, host, filepath.FromSlash(address), runtime.GOOS+"_"+runtime.GOARCH)
			must.Succeed(tb, os.MkdirAll(at, 0o755))
			source, version := path.Split(address)
			must.Succeed(tb, os.Symlink(binary, filepath.Join(at, "terraform-provider-"+path.Base(source)+"_v"+version)))
		}
		mirror(providerSource+"/"+mirrorVersion, binary)
		for address, other := range o.Others {
			mirror(address, other)
		}
		text = fmt.Sprintf("provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n", root)
	default:
		text = "provider_installation {\n  dev_overrides {\n"
		override := func(source, binary string) {
			text += fmt.Sprintf("    %q = %q\n", host+"/"+source, filepath.Dir(binary))
		}
		override(providerSource, binary)
		for source, other := range o.Others {
			override(source, other)
		}
		text += "  }\n  direct {}\n}\n"
	}
	file := filepath.Join(dir, "cli.tfrc")
	must.Write(tb, file, text)
	return file
}
