// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discoverytoken_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

func TestMain(m *testing.M) { acctest.Main(m) }

const password = "correct horse"

// form starts three members with the environment of the token and the password of the
// machines, and waits until they are one cluster.
func form(t *testing.T, environment map[string]any) {
	t.Helper()
	var processes []*etcdtest.Process
	for _, name := range []string{"a", "b", "c"} {
		p := etcdtest.NewProcess(t, etcdtest.Options{Name: name})
		for name, value := range environment {
			p.Env[name] = fmt.Sprint(value)
		}
		p.Env["ETCD_DISCOVERY_PASSWORD"] = password
		p.Start()
		processes = append(processes, p)
	}
	ctx := etcdtest.WaitContext(t)
	for _, p := range processes {
		if err := p.WaitReady(ctx); err != nil {
			t.Fatal(err)
		}
	}
	got, err := processes[0].Client(t).MemberList(ctx)
	if err != nil || len(got.Members) != len(processes) {
		t.Fatalf("the members are %v, %v", got, err)
	}
}

// A discovery cluster with mutual TLS and authentication: the machines get access
// with the files and the user in machine_access, and a password of their own.
func TestAccRegistryWithTLSAndPassword(t *testing.T) {
	t.Parallel()
	pki := etcdtest.NewPKI(t)
	registry := etcdtest.Start(t, 1, etcdtest.Options{TLS: pki, Password: password})
	machine := pki.Client("machine")
	w := acctest.NewWorkspace(t, acctest.WorkspaceOptions{})
	access := acctest.Access{Endpoints: registry.Endpoints(), PKI: pki, Cert: pki.Client("run"), Username: "root", Password: password}
	w.Write("main.tf", acctest.Required+access.ProviderConfig()+fmt.Sprintf(`
resource "etcd_discovery_token" "this" {
  size = 3
  machine_access = {
    ca_cert  = %q
    cert     = %q
    key      = %q
    username = "root"
  }
}

data "etcd_discovery_token" "this" {
  token = etcd_discovery_token.this.token
}
`, pki.CAFile, machine.CertFile, machine.KeyFile))
	const address = "etcd_discovery_token.this"
	w.Apply().MustSucceed()
	if strings.Contains(w.Read("terraform.tfstate"), password) {
		t.Error("the state holds the password")
	}
	environment, _ := w.State(address)["environment"].(map[string]any)
	form(t, environment)
	w.Plan().MustBeEmpty()
	w.Apply().MustSucceed()
	if members, _ := w.State("data." + address)["members"].([]any); w.State(address)["complete"] != true || len(members) != 3 {
		t.Errorf("complete is %v, and the members are %v", w.State(address)["complete"], members)
	}
}
