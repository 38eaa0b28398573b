// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// token is a resource that uses the provider to write one key.
const token = `
resource "etcd_discovery_token" "this" {
  size = 3
}
`

const password = "swordfish-3141592653"

// clearEnvironment removes the developer's own etcdctl settings.
func clearEnvironment(t *testing.T) {
	t.Helper()
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "ETCDCTL_") {
			t.Setenv(name, "")
		}
	}
}

// message matches a text regardless of the CLI's line breaks.
func message(text string) *regexp.Regexp {
	words := strings.Fields(text)
	for i, w := range words {
		words[i] = regexp.QuoteMeta(w)
	}
	return regexp.MustCompile(strings.Join(words, `[\s│╷╵]+`))
}

// mustHold fails the test unless the discovery cluster has the token of an
// applied configuration.
func mustHold(t *testing.T, cluster *etcdtest.Cluster) {
	t.Helper()
	ctx := etcdtest.WaitContext(t)
	got, err := cluster.Client(t).Get(ctx, "/_etcd/registry/", clientv3.WithPrefix())
	if err != nil || len(got.Kvs) != 1 || !strings.HasSuffix(string(got.Kvs[0].Key), "/_config/size") || string(got.Kvs[0].Value) != "3" {
		t.Errorf("the registry holds %v, %v", got, err)
	}
}

// write writes a file that is deleted when the test ends, and returns its path.
func write(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "content")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A password and a client certificate together; the logs must contain neither.
// (The password comes from a file, because the test framework itself logs
// configurations.)
func TestAccPasswordAndClientCertificate(t *testing.T) {
	clearEnvironment(t)
	pki := etcdtest.NewPKI(t)
	cluster := etcdtest.Start(t, 1, etcdtest.Options{TLS: pki, Password: password})
	cert := pki.Client("nobody")
	log := filepath.Join(t.TempDir(), "log")
	t.Setenv("TF_LOG", "TRACE")
	t.Setenv("TF_ACC_LOG_PATH", log)

	fromFile := func(argument, path string) string { return fmt.Sprintf("  %s = file(%q)\n", argument, path) }
	right := fromFile("password", write(t, password))
	access := acctest.Access{Endpoints: cluster.Endpoints(), PKI: pki, Cert: cert, Username: "root", Extra: right}
	wrong := access
	wrong.Extra = fromFile("password", write(t, password+"!"))
	withoutCert := access
	withoutCert.Cert = etcdtest.Cert{}
	inline := access
	inline.PKI, inline.Cert = nil, etcdtest.Cert{}
	inline.Extra = right + fromFile("ca_cert", pki.CAFile) + fromFile("cert", cert.CertFile) + fromFile("key", cert.KeyFile)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.ProtoV6ProviderFactories(t),
		Steps: []resource.TestStep{
			{Config: wrong.ProviderConfig() + token, ExpectError: message("wrong user name or password")},
			{Config: withoutCert.ProviderConfig() + token, ExpectError: message("server refuses the client certificate")},
			{
				Config: access.ProviderConfig() + token,
				Check:  func(*terraform.State) error { mustHold(t, cluster); return nil },
			},
			{
				Config:           inline.ProviderConfig() + token,
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}},
			},
		},
	})

	content, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	logged := string(content)
	for _, request := range []string{"ConfigureProvider", "ApplyResourceChange"} {
		if !strings.Contains(logged, request) {
			t.Fatalf("the log of %d bytes holds no %s: it proves nothing", len(logged), request)
		}
	}
	key, err := os.ReadFile(cert.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(key)), "\n")
	for _, secret := range append(lines[1:len(lines)-1], password, "PRIVATE KEY") {
		if at := strings.Index(logged, secret); at >= 0 {
			t.Errorf("a secret is logged: %q", logged[max(0, at-200):min(len(logged), at+200)])
		}
	}
}

func TestAccEnvironment(t *testing.T) {
	clearEnvironment(t)
	pki := etcdtest.NewPKI(t)
	cluster := etcdtest.Start(t, 1, etcdtest.Options{TLS: pki, Password: password})
	cert := pki.Client("nobody")
	for name, value := range map[string]string{
		"ETCDCTL_ENDPOINTS": strings.TrimPrefix(cluster.Endpoints()[0], "https://"), "ETCDCTL_USER": "root:" + password,
		"ETCDCTL_CACERT": pki.CAFile, "ETCDCTL_CERT": cert.CertFile, "ETCDCTL_KEY": cert.KeyFile,
	} {
		t.Setenv(name, value)
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.ProtoV6ProviderFactories(t),
		Steps: []resource.TestStep{{
			Config: token,
			Check:  func(*terraform.State) error { mustHold(t, cluster); return nil },
		}},
	})
}

// Endpoints that come from another resource are unknown at the first plan, and
// one apply still succeeds.
func TestAccUnknownEndpoints(t *testing.T) {
	clearEnvironment(t)
	cluster := etcdtest.Start(t, 1, etcdtest.Options{})
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.ProtoV6ProviderFactories(t),
		Steps: []resource.TestStep{{
			Config: fmt.Sprintf(`
resource "terraform_data" "machine" {
  input = %q
}

provider "etcd" {
  endpoints = [terraform_data.machine.output]
}
`, cluster.Endpoints()[0]) + token,
			Check: func(*terraform.State) error { mustHold(t, cluster); return nil },
		}},
	})
}

// The cluster is reached at an address that its certificate does not contain
// and that no member advertises.
func TestAccAddressMap(t *testing.T) {
	clearEnvironment(t)
	pki := etcdtest.NewPKI(t)
	cluster := etcdtest.Start(t, 1, etcdtest.Options{TLS: pki})
	link := etcdtest.Proxy(t, strings.TrimPrefix(cluster.Endpoints()[0], "https://"))
	mapped := func(advertised string) string {
		return acctest.Access{
			Endpoints: []string{advertised}, PKI: pki, Cert: pki.Client("nobody"),
			Extra: fmt.Sprintf("address_map = { %q = \"https://%s\" }", advertised, link.Addr()),
		}.ProviderConfig() + token
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.ProtoV6ProviderFactories(t),
		Steps: []resource.TestStep{
			{Config: mapped("https://infra1.example:2379"), ExpectError: message("certificate is for another host")},
			{
				Config: mapped("https://localhost:2379"),
				Check:  func(*terraform.State) error { mustHold(t, cluster); return nil },
			},
		},
	})
}

// The user gets the provider's message about an invalid block. TestBadSettings
// compares the messages themselves.
func TestAccBadProviderBlock(t *testing.T) {
	clearEnvironment(t)
	var steps []resource.TestStep
	for _, c := range []struct{ arguments, text string }{
		{`endpoints = ["ftp://infra1"]`, `Error: Invalid endpoint with provider["registry.`},
		{`ca_cert = "no/such/file"`, `ca_cert (no/such/file): no such file or directory.`},
		{`address_map = { "https://a" = "http://b" }`, `address_map: "http://b" has another scheme than the advertised URL it stands for (https://a:2379).`},
		{``, `Set endpoints in the provider block`},
	} {
		steps = append(steps, resource.TestStep{
			Config:      acctest.Access{Extra: c.arguments}.ProviderConfig() + token,
			ExpectError: message(c.text),
		})
	}
	resource.Test(t, resource.TestCase{ProtoV6ProviderFactories: acctest.ProtoV6ProviderFactories(t), Steps: steps})
}
