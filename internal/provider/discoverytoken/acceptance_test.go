// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discoverytoken

import (
	"context"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

const address = "etcd_discovery_token.this"

func config(endpoints []string, arguments string) string {
	return fmt.Sprintf(`
provider "etcd" {
  endpoints = ["%s"]
}

resource "etcd_discovery_token" "this" {
  %s
}
`, strings.Join(endpoints, `", "`), arguments)
}

const three = `size = 3`

// plan checks the planned action.
func plan(action plancheck.ResourceActionType, more ...plancheck.PlanCheck) resource.ConfigPlanChecks {
	return resource.ConfigPlanChecks{PreApply: append([]plancheck.PlanCheck{plancheck.ExpectResourceAction(address, action)}, more...)}
}

func isUnknown(path ...string) plancheck.PlanCheck {
	return plancheck.ExpectUnknownValue(address, jsonPath(path))
}

func isPlanned(value knownvalue.Check, path ...string) plancheck.PlanCheck {
	return plancheck.ExpectKnownValue(address, jsonPath(path), value)
}

func hasValue(value knownvalue.Check, path ...string) statecheck.StateCheck {
	return statecheck.ExpectKnownValue(address, jsonPath(path), value)
}

func jsonPath(path []string) tfjsonpath.Path {
	p := tfjsonpath.New(path[0])
	for _, step := range path[1:] {
		p = p.AtMapKey(step)
	}
	return p
}

// registryKeys returns the keys in a discovery cluster, and the revision.
func registryKeys(t *testing.T, client *clientv3.Client) (map[string]string, int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	got, err := client.Get(ctx, "/_etcd/registry/", clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]string{}
	for _, kv := range got.Kvs {
		keys[string(kv.Key)] = string(kv.Value)
	}
	return keys, got.Header.Revision
}

// Real members form a cluster from the token in a real discovery cluster. From
// then on the plan is empty, whatever happens to the latter.
func TestAccFormsACluster(t *testing.T) {
	t.Parallel()
	registry := etcdtest.Start(t, 1, etcdtest.Options{Version: etcdtest.V35})
	client := registry.Client(t)
	var made int64
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(realProvider(t)),
		Steps: []resource.TestStep{
			{
				Config: config(registry.Endpoints(), three),
				ConfigPlanChecks: plan(plancheck.ResourceActionCreate,
					isUnknown("token"), isUnknown("id"), isUnknown("environment"), isUnknown("bootstrap", "environment"),
					isPlanned(knownvalue.NumberExact(big.NewFloat(3)), "size"),
					isPlanned(knownvalue.Bool(false), "complete"),
					isPlanned(knownvalue.ListExact(nil), "members"),
					isPlanned(knownvalue.Int64Exact(3), "bootstrap", "size"),
					isPlanned(knownvalue.Bool(false), "bootstrap", "complete"),
				),
				ConfigStateChecks: []statecheck.StateCheck{
					hasValue(knownvalue.StringRegexp(regexp.MustCompile(`^[0-9a-f]{32}$`)), "token"),
					hasValue(knownvalue.StringExact(strings.Join(registry.Endpoints(), ",")), "environment", "ETCD_DISCOVERY_ENDPOINTS"),
					hasValue(knownvalue.Null(), "url"),
				},
				Check: func(*terraform.State) error {
					_, made = registryKeys(t, client)
					return nil
				},
			},
			{
				// Refresh and plan do not write or create anything.
				Config:           config(registry.Endpoints(), three),
				ConfigPlanChecks: plan(plancheck.ResourceActionNoop),
				Check: func(s *terraform.State) error {
					if _, now := registryKeys(t, client); now != made {
						return fmt.Errorf("the discovery cluster's revision went from %d to %d", made, now)
					}
					return form(t, etcdtest.V37, s.RootModule().Resources[address].Primary.Attributes, nil)
				},
			},
			{
				Config: config(registry.Endpoints(), three),
				ConfigPlanChecks: plan(plancheck.ResourceActionNoop,
					isPlanned(knownvalue.Bool(true), "complete"), isPlanned(knownvalue.Bool(true), "bootstrap", "complete")),
				ConfigStateChecks: []statecheck.StateCheck{
					hasValue(knownvalue.ListSizeExact(3), "members"),
				},
			},
			{
				Config: config(registry.Endpoints(), `size = 5`),
				ConfigPlanChecks: plan(plancheck.ResourceActionNoop,
					isPlanned(knownvalue.NumberExact(big.NewFloat(3)), "size")),
			},
			{
				PreConfig: func() {
					if _, err := client.Delete(t.Context(), "/_etcd/", clientv3.WithPrefix()); err != nil {
						t.Fatal(err)
					}
				},
				Config:           config(registry.Endpoints(), three),
				ConfigPlanChecks: plan(plancheck.ResourceActionNoop),
			},
			{
				PreConfig:        func() { registry.Members()[0].Kill() },
				Config:           config(registry.Endpoints(), three),
				ConfigPlanChecks: plan(plancheck.ResourceActionNoop),
			},
		},
	})
}

// Form is form, for tests with the whole provider.
var Form = form

// form starts three members with the environment of the token and the added
// variables of the machine, and waits until they are one cluster.
func form(t *testing.T, version etcdtest.Version, attributes, added map[string]string) error {
	var processes []*etcdtest.Process
	for _, name := range []string{"a", "b", "c"} {
		p := etcdtest.NewProcess(t, etcdtest.Options{Name: name, Version: version})
		for key, value := range attributes {
			if name, found := strings.CutPrefix(key, "environment."); found && name != "%" {
				p.Env[name] = value
			}
		}
		maps.Copy(p.Env, added)
		p.Start()
		processes = append(processes, p)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, p := range processes {
		if err := p.WaitReady(ctx); err != nil {
			return err
		}
	}
	got, err := processes[0].Client(t).MemberList(ctx)
	if err != nil {
		return err
	}
	if len(got.Members) != len(processes) {
		return fmt.Errorf("the cluster has %d members, want %d", len(got.Members), len(processes))
	}
	return nil
}
