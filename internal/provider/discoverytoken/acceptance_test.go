// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discoverytoken

import (
	"context"
	"fmt"
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

const founders = `founders = ["a", "b", "c"]`

// plan asserts the action that is planned.
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

// registryKeys returns what is in a registry, with the revision.
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

// A cluster is formed from the token, by real members and a real registry.
// The plan is empty from then on, whatever becomes of the registry.
func TestAccFormsACluster(t *testing.T) {
	for _, test := range []struct{ registry, members etcdtest.Version }{
		{etcdtest.V35, etcdtest.V37},
		{etcdtest.V36, etcdtest.V36},
		{etcdtest.V37, etcdtest.V37},
	} {
		t.Run(fmt.Sprintf("%s-registry-%s-members", test.registry, test.members), func(t *testing.T) {
			registry := etcdtest.Start(t, 1, etcdtest.Options{Version: test.registry})
			client := registry.Client(t)
			var made int64
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: factories(realProvider()),
				Steps: []resource.TestStep{
					{
						Config: config(registry.Endpoints(), founders),
						ConfigPlanChecks: plan(plancheck.ResourceActionCreate,
							isUnknown("token"), isUnknown("id"), isUnknown("environment"), isUnknown("bootstrap", "token"),
							isPlanned(knownvalue.NumberExact(big.NewFloat(3)), "size"),
							isPlanned(knownvalue.Bool(false), "complete"),
							isPlanned(knownvalue.ListExact(nil), "members"),
							isPlanned(knownvalue.SetSizeExact(3), "bootstrap", "founders"),
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
						// Nothing is written or minted by refresh and plan.
						Config:           config(registry.Endpoints(), founders),
						ConfigPlanChecks: plan(plancheck.ResourceActionNoop),
						Check: func(s *terraform.State) error {
							if _, now := registryKeys(t, client); now != made {
								return fmt.Errorf("the registry's revision went from %d to %d", made, now)
							}
							return form(t, test.members, s.RootModule().Resources[address].Primary.Attributes)
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

// form starts three members with the environment of the token, and waits
// until they are one cluster.
func form(t *testing.T, version etcdtest.Version, attributes map[string]string) error {
	var processes []*etcdtest.Process
	for _, name := range []string{"a", "b", "c"} {
		p := etcdtest.NewProcess(t, etcdtest.Options{Name: name, Version: version})
		for key, value := range attributes {
			if name, found := strings.CutPrefix(key, "environment."); found && name != "%" {
				p.Env[name] = value
			}
		}
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

func TestAccChangesBeforeCompletion(t *testing.T) {
	registry := etcdtest.Start(t, 1, etcdtest.Options{})
	client := registry.Client(t)
	one := func(token, size string) resource.TestCheckFunc {
		return func(*terraform.State) error {
			keys, _ := registryKeys(t, client)
			if len(keys) != 1 || (token != "" && keys["/_etcd/registry/"+token+"/_config/size"] != size) {
				return fmt.Errorf("in the registry: %v, want token %q alone, for size %s", keys, token, size)
			}
			return nil
		}
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(realProvider()),
		CheckDestroy: func(*terraform.State) error {
			if keys, _ := registryKeys(t, client); len(keys) > 0 {
				return fmt.Errorf("left in the registry: %v", keys)
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
				// Names are not in the registry.
				ImportStateVerifyIgnore: []string{"founders", "bootstrap"},
			},
			{
				Config: config(registry.Endpoints(), "size = 5\n token = \"mine\""),
				ConfigPlanChecks: plan(plancheck.ResourceActionReplace,
					isPlanned(knownvalue.NumberExact(big.NewFloat(5)), "size"), isPlanned(knownvalue.Null(), "founders"), isUnknown("environment")),
				Check: one("mine", "5"),
			},
			{
				// Where the size stays, the names of the founders are added.
				Config: config(registry.Endpoints(), "founders = [\"a\", \"b\", \"c\", \"d\", \"e\"]\n token = \"mine\""),
				ConfigPlanChecks: plan(plancheck.ResourceActionUpdate,
					isPlanned(knownvalue.SetSizeExact(5), "founders")),
				Check: one("mine", "5"),
			},
			{
				// It vanishes: made again.
				PreConfig: func() {
					if _, err := client.Delete(t.Context(), "/_etcd/", clientv3.WithPrefix()); err != nil {
						t.Fatal(err)
					}
				},
				Config:           config(registry.Endpoints(), founders),
				ConfigPlanChecks: plan(plancheck.ResourceActionCreate, isUnknown("token")),
				Check:            one("", ""),
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
		},
	})
}

// Terraform itself tells a replacement from a removal as the protocol tests do.
func TestAccCompletedSinceThePlan(t *testing.T) {
	fake := newFake()
	register := planAction(func() { fake.register(firstToken, "a", "b", "c") })
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(fakeProvider(fake)),
		Steps: []resource.TestStep{
			{
				Config:           config(registryEndpoints, founders),
				ConfigPlanChecks: plan(plancheck.ResourceActionCreate),
			},
			{
				Config:           config(registryEndpoints, "size = 5"),
				ConfigPlanChecks: plan(plancheck.ResourceActionReplace, register),
				ExpectError:      regexp.MustCompile("The discovery token is complete"),
			},
			{
				Config:           config(registryEndpoints, "size = 5"),
				ConfigPlanChecks: plan(plancheck.ResourceActionNoop, isPlanned(knownvalue.StringExact(firstToken), "token")),
			},
		},
	})
	if fake.calls["create"] != 1 || len(fake.tokens) != 0 {
		t.Errorf("calls %v, left %v: want one token made, and removed in the end", fake.calls, fake.tokens)
	}
}

// planAction does something between plan and apply.
type planAction func()

// CheckPlan implements [plancheck.PlanCheck].
func (f planAction) CheckPlan(context.Context, plancheck.CheckPlanRequest, *plancheck.CheckPlanResponse) {
	f()
}

// A token that was not written when its registry died is written by the next
// apply, under the same name.
func TestAccUnsureCreate(t *testing.T) {
	fake := newFake()
	fake.createErr = unsure()
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(fakeProvider(fake)),
		Steps: []resource.TestStep{
			{
				Config:             config(registryEndpoints, founders),
				ConfigPlanChecks:   plan(plancheck.ResourceActionCreate),
				ConfigStateChecks:  []statecheck.StateCheck{hasValue(knownvalue.StringExact(firstToken), "token")},
				ExpectNonEmptyPlan: true,
			},
			{
				PreConfig:         func() { fake.createErr = nil },
				Config:            config(registryEndpoints, founders),
				ConfigPlanChecks:  plan(plancheck.ResourceActionUpdate, isPlanned(knownvalue.StringExact(firstToken), "token"), isUnknown("members")),
				ConfigStateChecks: []statecheck.StateCheck{hasValue(knownvalue.StringExact(firstToken), "token")},
			},
			{
				Config:           config(registryEndpoints, founders),
				ConfigPlanChecks: plan(plancheck.ResourceActionNoop),
			},
		},
	})
	if fake.calls["create"] != 2 {
		t.Errorf("calls %v, want two creates: the lost one and its repetition", fake.calls)
	}
}

// The registry may be made in the same apply, so that nobody knows its
// endpoints at plan.
func TestAccUnknownEndpoints(t *testing.T) {
	registry := etcdtest.Start(t, 1, etcdtest.Options{})
	later := func(trigger string) string {
		return fmt.Sprintf(`
resource "terraform_data" "registry" {
  triggers_replace = %q
  input            = %q
}

provider "etcd" {
  endpoints = [terraform_data.registry.output]
}

resource "etcd_discovery_token" "this" {
  founders = ["a", "b", "c"]
}
`, trigger, registry.Endpoints()[0])
	}
	var token string
	remember := func(s *terraform.State) error {
		now := s.RootModule().Resources[address].Primary.ID
		if token != "" && now != token {
			return fmt.Errorf("token %s became %s", token, now)
		}
		token = now
		return nil
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(realProvider()),
		Steps: []resource.TestStep{
			{Config: later("one"), ConfigPlanChecks: plan(plancheck.ResourceActionCreate, isUnknown("environment")), Check: remember},
			{Config: later("two"), ConfigPlanChecks: plan(plancheck.ResourceActionNoop), Check: remember},
		},
	})
}

// What the framework itself finds wrong.
func TestAccBadInput(t *testing.T) {
	var steps []resource.TestStep
	for arguments, text := range map[string]string{
		"size = 1.5":   `size = 1\.5; it is the number of members`,
		"size = \"x\"": "a number is required",
		founders + "\ntimeouts = { create = \"soon\" }": `"soon"`,
		"size = 0": "size = 0; it is the number of members",
	} {
		steps = append(steps, resource.TestStep{Config: config(registryEndpoints, arguments), PlanOnly: true, ExpectError: regexp.MustCompile(text)})
	}
	resource.Test(t, resource.TestCase{ProtoV6ProviderFactories: factories(fakeProvider(newFake())), Steps: steps})
}
