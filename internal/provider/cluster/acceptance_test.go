// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"go.uber.org/goleak"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(etcdtest.Collected{M: m}) }

// A token is for the members of the first apply that are not learners. Until its
// members have registered, the cluster keeps it, and then no later change of the token
// or of its completion is a change of the cluster.
func TestAccDiscovery(t *testing.T) {
	t.Parallel()
	registry := etcdtest.Start(t, 1, etcdtest.Options{})
	config := func(token, names string) string {
		return fmt.Sprintf(`
provider "etcd" {}
provider "discovery" {
  endpoints = [%q]
}
resource "etcd_discovery_token" "this" {
  provider = discovery
  %s
}
resource "etcd_cluster" "this" {
  discovery = etcd_discovery_token.this.bootstrap
  members   = { %s }
}`, registry.Endpoints()[0], token, names)
	}
	plans := func(token, cluster plancheck.ResourceActionType) resource.ConfigPlanChecks {
		return resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
			plancheck.ExpectResourceAction("etcd_discovery_token.this", token), plancheck.ExpectResourceAction("etcd_cluster.this", cluster),
		}}
	}
	const three = "a = {}, b = {}, c = {}"
	const create, update, noop = plancheck.ResourceActionCreate, plancheck.ResourceActionUpdate, plancheck.ResourceActionNoop
	says := func(text string) *regexp.Regexp { return regexp.MustCompile(strings.ReplaceAll(text, " ", `\s+`)) }
	// Two configurations of a provider in one process would share the last one's settings.
	factories := acctest.ProtoV6ProviderFactories(t)
	factories["discovery"] = acctest.ProtoV6ProviderFactories(t)["etcd"]
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories,
		Steps: []resource.TestStep{
			{Config: config("size = 3", "a = {}, b = {}"), PlanOnly: true, ExpectError: says("forms a cluster of 3, and members has 2 that take part")},
			{Config: config("size = 3", three+", d = { learner = true }"), ConfigPlanChecks: plans(create, create)},
			{Config: config("size = 3", three), ConfigPlanChecks: plans(noop, update)},
			{Config: config("size = 4", three+", d = {}"), PlanOnly: true, ExpectError: says("The discovery token changed too early")},
			{Config: config("size = 3\n advertised_endpoints = [\"http://10.0.0.9:2379\"]", three), PlanOnly: true, ExpectError: says("The discovery token changed too early")},
			{
				Config: config("size = 3", three), ConfigPlanChecks: plans(noop, noop),
				Check: func(s *terraform.State) error {
					token := s.RootModule().Resources["etcd_discovery_token.this"].Primary.ID
					for i, name := range []string{"a", "b", "c"} {
						key := fmt.Sprintf("/_etcd/registry/%s/members/%d", token, i+1)
						if _, err := registry.Client(t).Put(t.Context(), key, fmt.Sprintf("%s=http://10.0.0.%d:2380", name, i+1)); err != nil {
							return err
						}
					}
					return nil
				},
			},
			{Config: config("size = 4", three+", d = {}"), ConfigPlanChecks: plans(noop, update)},
			{Config: config("size = 4\n advertised_endpoints = [\"http://10.0.0.9:2379\"]", three+", d = {}"), ConfigPlanChecks: plans(update, update)},
			{Config: config("size = 4\n advertised_endpoints = [\"http://10.0.0.9:2379\"]", three+", d = {}"), ConfigPlanChecks: plans(noop, noop)},
		},
	})
}
