// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discoverytoken

import (
	"context"
	"fmt"
	"regexp"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

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

// A hundred refreshes and plans leave a real registry's revision where it was.
func TestHundredRefreshesOnARealRegistry(t *testing.T) {
	registry := etcdtest.Start(t, 1, etcdtest.Options{})
	client := registry.Client(t)
	s := newSession(t, realProvider(), registry.Endpoints())
	s.up(threeFounders)
	before, made := registryKeys(t, client)
	for range 100 {
		want(t, s.refresh())
		wantAction(t, s.plan(threeFounders), "no-op")
	}
	if after, now := registryKeys(t, client); now != made || len(after) != len(before) || len(after) != 1 {
		t.Errorf("revision %d, then %d; keys %v", made, now, after)
	}
	want(t, s.destroy())
	if after, _ := registryKeys(t, client); len(after) != 0 {
		t.Errorf("left after destroy: %v", after)
	}
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
