// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discoverytoken

import (
	"context"
	"fmt"
	"maps"
	"math/big"
	"net/http"
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

const founders = `founders = ["a", "b", "c"]`

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
	for _, test := range []struct{ registry, members etcdtest.Version }{
		{etcdtest.V35, etcdtest.V37},
		{etcdtest.V36, etcdtest.V36},
		{etcdtest.V37, etcdtest.V37},
	} {
		t.Run(fmt.Sprintf("%s-registry-%s-members", test.registry, test.members), func(t *testing.T) {
			t.Parallel()
			registry := etcdtest.Start(t, 1, etcdtest.Options{Version: test.registry})
			client := registry.Client(t)
			var made int64
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: factories(realProvider(t)),
				Steps: []resource.TestStep{
					{
						Config: config(registry.Endpoints(), founders),
						ConfigPlanChecks: plan(plancheck.ResourceActionCreate,
							isUnknown("token"), isUnknown("id"), isUnknown("environment"), isUnknown("bootstrap", "token"),
							isPlanned(knownvalue.NumberExact(big.NewFloat(3)), "size"),
							isPlanned(knownvalue.Bool(false), "complete"),
							isPlanned(knownvalue.ListExact(nil), "members"),
							isPlanned(knownvalue.StringExact("a,b,c"), "bootstrap", "founders"),
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
						Config:           config(registry.Endpoints(), founders),
						ConfigPlanChecks: plan(plancheck.ResourceActionNoop),
						Check: func(s *terraform.State) error {
							if _, now := registryKeys(t, client); now != made {
								return fmt.Errorf("the discovery cluster's revision went from %d to %d", made, now)
							}
							return form(t, test.members, s.RootModule().Resources[address].Primary.Attributes, nil)
						},
					},
					{
						Config: config(registry.Endpoints(), founders),
						ConfigPlanChecks: plan(plancheck.ResourceActionNoop,
							isPlanned(knownvalue.Bool(true), "complete"), isPlanned(knownvalue.Bool(true), "bootstrap", "complete")),
						ConfigStateChecks: []statecheck.StateCheck{
							hasValue(knownvalue.ListSizeExact(3), "members"),
						},
					},
					{
						Config: config(registry.Endpoints(), `size = 5`),
						ConfigPlanChecks: plan(plancheck.ResourceActionNoop,
							isPlanned(knownvalue.NumberExact(big.NewFloat(3)), "size"), isPlanned(knownvalue.SetSizeExact(3), "founders")),
					},
					{
						PreConfig: func() {
							if _, err := client.Delete(t.Context(), "/_etcd/", clientv3.WithPrefix()); err != nil {
								t.Fatal(err)
							}
						},
						Config:           config(registry.Endpoints(), founders),
						ConfigPlanChecks: plan(plancheck.ResourceActionNoop),
					},
					{
						PreConfig:        func() { registry.Members()[0].Kill() },
						Config:           config(registry.Endpoints(), founders),
						ConfigPlanChecks: plan(plancheck.ResourceActionNoop),
					},
				},
			})
		})
	}
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

// The same over the v2 API, with members of versions that support it.
func TestAccV2FormsACluster(t *testing.T) {
	t.Parallel()
	registry := etcdtest.Start(t, 1, etcdtest.Options{Version: etcdtest.V35, V2: true})
	base := registry.Endpoints()[0] + "/v2/keys/_etcd/registry/mine"
	status := func() string {
		resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get(base + "/_config/size")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		return resp.Status
	}
	const v2 = founders + "\n protocol = \"v2\"\n token = \"mine\""
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(realProvider(t)),
		CheckDestroy: func(*terraform.State) error {
			if got := status(); got != "404 Not Found" {
				return fmt.Errorf("the token answers %s after destroy", got)
			}
			return nil
		},
		Steps: []resource.TestStep{
			{
				Config:           config(registry.Endpoints(), v2),
				ConfigPlanChecks: plan(plancheck.ResourceActionCreate, isUnknown("url"), isUnknown("environment")),
				ConfigStateChecks: []statecheck.StateCheck{
					hasValue(knownvalue.StringExact(base), "url"),
					hasValue(knownvalue.MapExact(map[string]knownvalue.Check{
						"ETCD_DISCOVERY": knownvalue.StringExact(base), "ETCD_DISCOVERY_FALLBACK": knownvalue.StringExact("exit"),
					}), "environment"),
				},
				Check: func(s *terraform.State) error {
					return form(t, etcdtest.V36, s.RootModule().Resources[address].Primary.Attributes, nil)
				},
			},
			{
				Config: config(registry.Endpoints(), founders),
				ConfigPlanChecks: plan(plancheck.ResourceActionNoop,
					isPlanned(knownvalue.Bool(true), "complete"), isPlanned(knownvalue.StringExact("v2"), "protocol")),
			},
			{
				ResourceName:                         address,
				ImportState:                          true,
				ImportStateId:                        "v2:mine",
				ImportStateVerify:                    true,
				ImportStateVerifyIdentifierAttribute: "token",
				ImportStateVerifyIgnore:              []string{"founders", "bootstrap"},
			},
		},
	})
}

func TestAccChangesBeforeCompletion(t *testing.T) {
	t.Parallel()
	registry := etcdtest.Start(t, 1, etcdtest.Options{})
	client := registry.Client(t)
	one := func(token, size string) resource.TestCheckFunc {
		return func(*terraform.State) error {
			keys, _ := registryKeys(t, client)
			if len(keys) != 1 || (token != "" && keys["/_etcd/registry/"+token+"/_config/size"] != size) {
				return fmt.Errorf("in the discovery cluster: %v, want token %q alone, for size %s", keys, token, size)
			}
			return nil
		}
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(realProvider(t)),
		CheckDestroy: func(*terraform.State) error {
			if keys, _ := registryKeys(t, client); len(keys) > 0 {
				return fmt.Errorf("left in the discovery cluster: %v", keys)
			}
			return nil
		},
		Steps: []resource.TestStep{
			{
				Config: config(registry.Endpoints(), founders+"\n token = \"mine\""),
				ConfigPlanChecks: plan(plancheck.ResourceActionCreate,
					isPlanned(knownvalue.StringExact("mine"), "token"), isPlanned(knownvalue.StringExact("mine"), "id")),
				Check: one("mine", "3"),
			},
			{
				ResourceName:                         address,
				ImportState:                          true,
				ImportStateId:                        "mine",
				ImportStateVerify:                    true,
				ImportStateVerifyIdentifierAttribute: "token",
				// Names are not in the discovery cluster.
				ImportStateVerifyIgnore: []string{"founders", "bootstrap"},
			},
			{
				Config: config(registry.Endpoints(), "size = 5\n token = \"mine\""),
				ConfigPlanChecks: plan(plancheck.ResourceActionReplace,
					isPlanned(knownvalue.NumberExact(big.NewFloat(5)), "size"), isPlanned(knownvalue.Null(), "founders"), isUnknown("environment")),
				Check: one("mine", "5"),
			},
			{
				// If the size stays the same, the names of the initial members are added.
				Config: config(registry.Endpoints(), "founders = [\"a\", \"b\", \"c\", \"d\", \"e\"]\n token = \"mine\""),
				ConfigPlanChecks: plan(plancheck.ResourceActionUpdate,
					isPlanned(knownvalue.SetSizeExact(5), "founders")),
				Check: one("mine", "5"),
			},
			{
				Config:           config(registry.Endpoints(), founders+"\n token = \"other\""),
				ConfigPlanChecks: plan(plancheck.ResourceActionReplace, isPlanned(knownvalue.StringExact("other"), "token"), isUnknown("bootstrap", "retry")),
				Check:            one("other", "3"),
			},
			{
				Config: config(registry.Endpoints(), founders+"\n advertised_endpoints = [\"https://registry.example:2379\"]"),
				ConfigPlanChecks: plan(plancheck.ResourceActionUpdate,
					isUnknown("environment"), isPlanned(knownvalue.StringRegexp(regexp.MustCompile(`.`)), "token")),
				ConfigStateChecks: []statecheck.StateCheck{
					hasValue(knownvalue.StringExact("https://registry.example:2379"), "environment", "ETCD_DISCOVERY_ENDPOINTS"),
				},
				Check: one("", ""),
			},
			{
				// The token is gone from the discovery cluster; the cluster may have formed.
				PreConfig: func() {
					if _, err := client.Delete(t.Context(), "/_etcd/", clientv3.WithPrefix()); err != nil {
						t.Fatal(err)
					}
				},
				Config:           config(registry.Endpoints(), founders+"\n advertised_endpoints = [\"https://registry.example:2379\"]"),
				ConfigPlanChecks: plan(plancheck.ResourceActionNoop),
			},
			{
				Config:      config(registry.Endpoints(), "size = 5\n advertised_endpoints = [\"https://registry.example:2379\"]"),
				ExpectError: regexp.MustCompile(`which may have been complete`),
			},
			{
				Config:           config(registry.Endpoints(), founders+"\n advertised_endpoints = [\"https://registry.example:2379\"]"),
				ConfigPlanChecks: plan(plancheck.ResourceActionNoop),
			},
		},
	})
}
