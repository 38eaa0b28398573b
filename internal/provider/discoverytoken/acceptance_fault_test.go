// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discoverytoken

import (
	"context"
	"regexp"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
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
				Config:           config(registryEndpoints, three),
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
