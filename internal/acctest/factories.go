// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package acctest contains the shared parts of the acceptance tests: it runs
// the provider under a real Terraform or OpenTofu, and configures it. Its own
// tests are about the lives of members: how they join, fail, are replaced,
// restored and removed. Those in package commands are about plans and states.
package acctest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/must"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
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
// that tells the CLI where they are. The CLI uses one for all walks of a command.
func Serve(t testing.TB, providers map[string]tfprotov6.ProviderServer) string {
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
		found[address] = map[string]any{
			"Protocol": c.Protocol, "ProtocolVersion": c.ProtocolVersion, "Pid": c.Pid, "Test": true,
			"Addr": map[string]string{"Network": c.Addr.Network(), "String": c.Addr.String()},
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
