// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package functions_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
)

// known is a configuration whose members are known at plan.
const known = `
locals {
  members = { b = ["http://localhost:23812", "http://127.0.0.1:23802"], a = toset(["http://127.0.0.1:23801"]) }
  token   = "tok-1"
}
`

// unknown is the same with values that are known only after the apply,
// including a value deep within the members.
const unknown = `
resource "terraform_data" "url" {
  input = "http://127.0.0.1:23801"
}
resource "terraform_data" "token" {
  input = "tok-1"
}
locals {
  members = { b = ["http://localhost:23812", "http://127.0.0.1:23802"], a = [terraform_data.url.output] }
  token   = terraform_data.token.output
}
`

const calls = `
output "initial_cluster" {
  value = provider::etcd::initial_cluster(local.members)
}
output "parsed" {
  value = provider::etcd::parse_initial_cluster(provider::etcd::initial_cluster(local.members))
}
output "file" {
  value = provider::etcd::environment_file({ ETCD_INITIAL_CLUSTER_TOKEN = local.token, ETCD_B = "$HOME b", ETCD_C = null })
}
output "quorum" {
  value = provider::etcd::quorum(length(local.members) + 1)
}
output "id" {
  value = provider::etcd::member_id(local.members["b"], local.token)
}
`

func results() []statecheck.StateCheck {
	set := func(urls ...string) knownvalue.Check {
		var checks []knownvalue.Check
		for _, u := range urls {
			checks = append(checks, knownvalue.StringExact(u))
		}
		return knownvalue.SetExact(checks)
	}
	return []statecheck.StateCheck{
		statecheck.ExpectKnownOutputValue("initial_cluster", knownvalue.StringExact("a=http://127.0.0.1:23801,b=http://127.0.0.1:23802,b=http://localhost:23812")),
		statecheck.ExpectKnownOutputValue("parsed", knownvalue.MapExact(map[string]knownvalue.Check{
			"a": set("http://127.0.0.1:23801"), "b": set("http://localhost:23812", "http://127.0.0.1:23802"),
		})),
		statecheck.ExpectKnownOutputValue("file", knownvalue.StringExact("ETCD_B=\"\\$HOME b\"\nETCD_INITIAL_CLUSTER_TOKEN=tok-1\n")),
		statecheck.ExpectKnownOutputValue("quorum", knownvalue.Int64Exact(2)),
		statecheck.ExpectKnownOutputValue("id", knownvalue.StringExact("6085adc6bb1f46fc")),
	}
}

// Calls of the functions by Terraform itself, with values that are unknown at
// plan, and with null.
func TestAccFunctions(t *testing.T) {
	t.Parallel()
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.ProtoV6ProviderFactories(t),
		Steps: []resource.TestStep{
			{
				Config: unknown + calls,
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectUnknownOutputValue("initial_cluster"), plancheck.ExpectUnknownOutputValue("parsed"),
					plancheck.ExpectUnknownOutputValue("file"), plancheck.ExpectUnknownOutputValue("id"),
					plancheck.ExpectKnownOutputValue("quorum", knownvalue.Int64Exact(2)),
				}},
				ConfigStateChecks: results(),
			},
			{Config: known + calls, ConfigStateChecks: results()},
			{Config: known + `output "x" { value = provider::etcd::quorum(null) }`, ExpectError: message("argument must not be null")},
			{Config: known + `output "x" { value = provider::etcd::quorum(1.5) }`, ExpectError: message("1.5")},
			{Config: known + `output "x" { value = provider::etcd::quorum(0) }`, ExpectError: message("A cluster has at least one voter; 0 was given.")},
			{
				Config:      known + `output "x" { value = provider::etcd::initial_cluster({ a = "http://h:1" }) }`,
				ExpectError: message(`Invalid value for "members" parameter`),
			},
			{
				Config:      known + `output "x" { value = provider::etcd::initial_cluster({ a = null }) }`,
				ExpectError: message(`Entry "a": Expected name=url, such as infra1=https://10.0.0.1:2380.`),
			},
			{
				Config:      known + `output "x" { value = provider::etcd::parse_initial_cluster("a") }`,
				ExpectError: message(`Entry "a": Expected name=url, such as infra1=https://10.0.0.1:2380.`),
			},
			{Config: known + calls, ConfigStateChecks: results()},
		},
	})
}

// message matches a text regardless of the CLI's line breaks.
func message(text string) *regexp.Regexp {
	words := strings.Fields(text)
	for i, w := range words {
		words[i] = regexp.QuoteMeta(w)
	}
	return regexp.MustCompile(strings.Join(words, `[\s│╷╵]+`))
}

// nodes is a cluster whose machine gets its user data from the whole node, which
// has more attributes than the parameter, and a node that a user writes.
const nodes = `
resource "etcd_cluster" "this" {
  members = { a = { peer_urls = ["http://127.0.0.1:1"], client_urls = ["http://127.0.0.1:2"] } }
}
output "cloud_config" {
  sensitive = true
  value     = provider::etcd::cloud_config(etcd_cluster.this.node["a"], { etcd = { path = "/usr/bin" } })
}
output "ignition" {
  value = provider::etcd::ignition(
    { environment = { ETCD_NAME = "b" }, join_script_base64gzip = "", start = { format = 1 }, version = null, status = "voter" },
    { etcd = { path = "/usr/bin" } },
  )
}
`

// Terraform converts a node to the parameter, which has fewer attributes.
func TestAccUserDataOfNodes(t *testing.T) {
	t.Parallel()
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.ProtoV6ProviderFactories(t),
		Steps: []resource.TestStep{
			{
				Config: nodes,
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectUnknownOutputValue("cloud_config"),
					plancheck.ExpectKnownOutputValue("ignition", knownvalue.StringRegexp(regexp.MustCompile(`ETCD_NAME=b`))),
				}},
				ConfigStateChecks: []statecheck.StateCheck{
					statecheck.ExpectKnownOutputValue("cloud_config", knownvalue.StringRegexp(regexp.MustCompile(`ETCD_INITIAL_CLUSTER=.*a=http://127\.0\.0\.1:1`))),
				},
			},
			{
				Config:      `output "x" { value = provider::etcd::ignition({ environment = {}, join_script_base64gzip = "", version = null }, {}) }`,
				ExpectError: message(`attribute "start" is required`),
			},
			{
				Config:      strings.ReplaceAll(nodes, `etcd = { path = "/usr/bin" }`, ""),
				ExpectError: message("Option etcd is missing. The node has no version"),
			},
			{Config: nodes, ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}}},
		},
	})
}
