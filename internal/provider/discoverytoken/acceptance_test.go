// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discoverytoken_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
	"go.uber.org/goleak"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(etcdtest.Collected{M: m}) }

const password = "correct horse"

// form starts three members with the environment of the token and the added
// variables of the machine, and waits until they are one cluster.
func form(t *testing.T, attributes, added map[string]string) error {
	var processes []*etcdtest.Process
	for _, name := range []string{"a", "b", "c"} {
		p := etcdtest.NewProcess(t, etcdtest.Options{Name: name})
		for key, value := range attributes {
			if name, found := strings.CutPrefix(key, "environment."); found && name != "%" {
				p.Env[name] = value
			}
		}
		maps.Copy(p.Env, added)
		p.Start()
		processes = append(processes, p)
	}
	ctx := etcdtest.WaitContext(t)
	for _, p := range processes {
		if err := p.WaitReady(ctx); err != nil {
			return err
		}
	}
	got, err := processes[0].Client(t).MemberList(ctx)
	if err == nil && len(got.Members) != len(processes) {
		err = fmt.Errorf("the cluster has %d members, want %d", len(got.Members), len(processes))
	}
	return err
}

// A discovery cluster with mutual TLS and authentication: the machines get access
// with the files and the user in machine_access, and a password of their own.
func TestAccRegistryWithTLSAndPassword(t *testing.T) {
	t.Parallel()
	pki := etcdtest.NewPKI(t)
	registry := etcdtest.Start(t, 1, etcdtest.Options{TLS: pki, Password: password})
	run, machine := pki.Client("run"), pki.Client("machine")
	config := fmt.Sprintf(must.Read(t, "testdata/registry.tf"), registry.Endpoints()[0], password, pki.CAFile, run.CertFile, run.KeyFile, pki.CAFile, machine.CertFile, machine.KeyFile)

	const address = "etcd_discovery_token.this"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.ProtoV6ProviderFactories(t),
		Steps: []resource.TestStep{
			{
				Config: config,
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction(address, plancheck.ResourceActionCreate),
					plancheck.ExpectUnknownValue(address, tfjsonpath.New("environment")),
				}},
				Check: func(s *terraform.State) error {
					attributes := s.RootModule().Resources[address].Primary.Attributes
					for name, value := range attributes {
						if strings.Contains(value, password) {
							return fmt.Errorf("the state holds the password, in %s", name)
						}
					}
					return form(t, attributes, map[string]string{"ETCD_DISCOVERY_PASSWORD": password})
				},
			},
			{
				Config: config,
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectEmptyPlan(),
					plancheck.ExpectKnownValue(address, tfjsonpath.New("complete"), knownvalue.Bool(true)),
				}},
				ConfigStateChecks: []statecheck.StateCheck{
					statecheck.ExpectKnownValue("data."+address, tfjsonpath.New("members"), knownvalue.ListSizeExact(3)),
				},
			},
		},
	})
}
