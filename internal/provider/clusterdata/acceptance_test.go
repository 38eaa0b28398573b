// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package clusterdata_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

const (
	address = "data.etcd_cluster.this"
	data    = `data "etcd_cluster" "this" {}` + "\n"
)

func has(value knownvalue.Check, name string) statecheck.StateCheck {
	return statecheck.ExpectKnownValue(address, tfjsonpath.New(name), value)
}

func exactly(s string) knownvalue.Check { return knownvalue.StringExact(s) }

func list(texts ...string) knownvalue.Check {
	checks := make([]knownvalue.Check, 0, len(texts))
	for _, s := range texts {
		checks = append(checks, exactly(s))
	}
	return knownvalue.ListExact(checks)
}

// matching checks for a list of texts that match the expressions.
func matching(expressions ...string) knownvalue.Check {
	var checks []knownvalue.Check
	for _, e := range expressions {
		checks = append(checks, knownvalue.StringRegexp(regexp.MustCompile(e)))
	}
	return knownvalue.ListExact(checks)
}

// message matches a text regardless of the CLI's line breaks.
func message(text string) *regexp.Regexp {
	words := strings.Fields(text)
	for i, w := range words {
		words[i] = regexp.QuoteMeta(w)
	}
	return regexp.MustCompile(strings.Join(words, `[\s│╷╵]+`))
}

// Mutual TLS and a password, through Terraform: a healthy cluster; a dead
// member, which makes the check warn without an error; a wrong password.
func TestAccTLSAndPassword(t *testing.T) {
	t.Parallel()
	const password = "swordfish-2718281828"
	pki := etcdtest.NewPKI(t)
	b := etcdtest.Start(t, 3, etcdtest.Options{TLS: pki, Password: password})
	access := acctest.Access{
		Endpoints: b.Endpoints()[:1], PKI: pki, Cert: pki.Client("nobody"), Username: "root", Password: password, Extra: `request_timeout = "2s"`,
	}
	config := access.ProviderConfig() + data
	wrong := access
	wrong.Password += "!"
	id := regexp.MustCompile(`^[0-9a-f]{1,16}$`)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.ProtoV6ProviderFactories(t),
		Steps: []resource.TestStep{
			{
				Config: config,
				ConfigStateChecks: []statecheck.StateCheck{
					has(knownvalue.Bool(true), "reachable"), has(knownvalue.Bool(true), "healthy"),
					has(knownvalue.StringRegexp(id), "cluster_id"), has(knownvalue.StringRegexp(id), "leader"), has(knownvalue.NotNull(), "term"),
					has(knownvalue.Int64Exact(3), "voters"), has(knownvalue.Int64Exact(2), "quorum"), has(knownvalue.Int64Exact(1), "failure_tolerance"),
					has(list(b.Endpoints()...), "voter_endpoints"), has(list(), "alarms"), has(list(), "advice"),
					statecheck.ExpectKnownValue(address, tfjsonpath.New("members").AtSliceIndex(1), knownvalue.ObjectPartial(map[string]knownvalue.Check{
						"name": exactly("infra2"), "role": exactly("voter"), "alive": knownvalue.Bool(true), "endpoint": exactly(b.Endpoints()[1]),
						"client_urls": list(b.Endpoints()[1]), "peer_urls": list(b.Member("infra2").PeerURL()), "version": knownvalue.NotNull(),
						"db_size": knownvalue.NotNull(), "raft_term": knownvalue.NotNull(), "raft_index": knownvalue.NotNull(),
						"raft_applied_index": knownvalue.NotNull(), "lag": knownvalue.NotNull(), "leader": knownvalue.NotNull(),
						"answer": knownvalue.StringRegexp(regexp.MustCompile(`^infra2 \([0-9a-f]+\) is alive\.$`)),
					})),
				},
			},
			{
				PreConfig: func() {
					b.Member("infra3").Kill()
					b.Leader(t) // without a leader, no login with a password is possible
				},
				Config: config + "check \"etcd\" {\n assert {\n condition = data.etcd_cluster.this.healthy\n error_message = \"unhealthy\"\n }\n}\n",
				ConfigStateChecks: []statecheck.StateCheck{
					has(knownvalue.Bool(false), "healthy"), has(knownvalue.Int64Exact(0), "failure_tolerance"), has(list(b.Endpoints()...), "voter_endpoints"),
					has(matching(`^infra3 \([0-9a-f]+\) does not answer`, `^No further voter may fail`), "advice"),
					statecheck.ExpectKnownValue(address, tfjsonpath.New("members").AtSliceIndex(2), knownvalue.ObjectPartial(map[string]knownvalue.Check{
						"name": exactly("infra3"), "alive": knownvalue.Bool(false), "version": knownvalue.Null(), "lag": knownvalue.Null(), "db_size": knownvalue.Null(),
						"raft_term": knownvalue.Null(), "raft_index": knownvalue.Null(), "raft_applied_index": knownvalue.Null(),
					})),
				},
			},
			{Config: wrong.ProviderConfig() + data, ExpectError: message("wrong user name or password")},
			{Config: config},
		},
	})
}

// The data source's own endpoints; and provider endpoints that are known only
// after the apply, for which the data source has to wait.
func TestAccEndpoints(t *testing.T) {
	t.Parallel()
	b := etcdtest.Start(t, 1, etcdtest.Options{})
	machine := fmt.Sprintf("resource \"terraform_data\" \"machine\" {\n  input = %q\n}\n", b.Endpoints()[0])
	const later = "provider \"etcd\" {\n  endpoints = [terraform_data.machine.output]\n}\n"
	steps := []resource.TestStep{
		{
			Config:            machine + "data \"etcd_cluster\" \"this\" {\n  endpoints = [terraform_data.machine.output]\n}\n",
			ConfigPlanChecks:  resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectUnknownValue(address, tfjsonpath.New("healthy"))}},
			ConfigStateChecks: []statecheck.StateCheck{has(knownvalue.Bool(true), "healthy")},
		},
		{Config: machine + later, Destroy: true},
		{Config: machine + later + data, ExpectError: message("Add a depends_on with the resource that they come from")},
		{
			Config:            machine + later + "data \"etcd_cluster\" \"this\" {\n  depends_on = [terraform_data.machine]\n}\n",
			ConfigStateChecks: []statecheck.StateCheck{has(knownvalue.Bool(true), "healthy")},
		},
	}
	for _, c := range []struct{ arguments, text string }{
		{`endpoints = []`, `Attribute endpoints list must contain at least 1 elements`},
		{`endpoints = ["ftp://h"]`, `endpoints: "ftp://h" has the scheme "ftp"`},
		{``, `Neither the provider block nor this block says where the cluster is.`},
	} {
		steps = append(steps, resource.TestStep{Config: "data \"etcd_cluster\" \"this\" {\n" + c.arguments + "\n}\n", ExpectError: message(c.text)})
	}
	steps = append(steps, resource.TestStep{Config: machine})
	resource.Test(t, resource.TestCase{ProtoV6ProviderFactories: acctest.ProtoV6ProviderFactories(t), Steps: steps})
}
