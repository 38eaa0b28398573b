// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discoverytoken

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// Terraform itself distinguishes a replacement from a removal as the protocol tests do.
func TestAccCompletedSinceThePlan(t *testing.T) {
	t.Parallel()
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

// planAction runs between plan and apply.
type planAction func()

// CheckPlan implements [plancheck.PlanCheck].
func (f planAction) CheckPlan(context.Context, plancheck.CheckPlanRequest, *plancheck.CheckPlanResponse) {
	f()
}

// A token that was not written because the discovery cluster died is written by
// the next apply, under the same name.
func TestAccUnsureCreate(t *testing.T) {
	t.Parallel()
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

// The discovery cluster may be created in the same apply, so that its endpoints
// are not known at plan.
func TestAccUnknownEndpoints(t *testing.T) {
	t.Parallel()
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
		ProtoV6ProviderFactories: factories(realProvider(t)),
		Steps: []resource.TestStep{
			{Config: later("one"), ConfigPlanChecks: plan(plancheck.ResourceActionCreate, isUnknown("environment")), Check: remember},
			{Config: later("two"), ConfigPlanChecks: plan(plancheck.ResourceActionNoop), Check: remember},
		},
	})
}

// A hundred refreshes and plans do not change a real discovery cluster: its
// revision with v3, its index with v2.
func TestHundredRefreshesOnARealRegistry(t *testing.T) {
	t.Parallel()
	registry := etcdtest.Start(t, 1, etcdtest.Options{Version: etcdtest.V35, V2: true})
	client := registry.Client(t)
	for protocol, version := range map[string]func() (string, string){
		"v3": func() (string, string) {
			keys, revision := registryKeys(t, client)
			return fmt.Sprint(keys), fmt.Sprint(revision)
		},
		"v2": func() (string, string) { return v2Keys(t, registry) },
	} {
		config := attributes{"founders": []string{"a", "b", "c"}, "protocol": protocol}
		empty, _ := version()
		s := newSession(t, realProvider(t), registry.Endpoints())
		want(t, s.carryOut(s.plan(config))) // v2 adds advice to the plan
		before, made := version()
		for range 100 {
			want(t, s.refresh())
			wantAction(t, s.plan(config), "no-op")
		}
		if after, now := version(); now != made || after != before || strings.Count(after, "_config/size") > 1 || after == empty {
			t.Errorf("%s: %s at %s, then %s at %s", protocol, before, made, after, now)
		}
		want(t, s.destroy())
		if after, _ := version(); after != empty {
			t.Errorf("%s: left after destroy: %s, before there was %s", protocol, after, empty)
		}
	}
}

// v2Keys returns the token keys of the v2 API, and its index.
func v2Keys(t *testing.T, registry *etcdtest.Cluster) (keys, index string) {
	t.Helper()
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get(registry.Endpoints()[0] + "/v2/keys/_etcd/registry?recursive=true")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var answer struct {
		Node struct {
			Nodes []struct {
				Key string `json:"key"`
			} `json:"nodes"`
		} `json:"node"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(answer.Node.Nodes), resp.Header.Get("X-Etcd-Index")
}

// Errors that the framework itself detects.
func TestAccBadInput(t *testing.T) {
	t.Parallel()
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
