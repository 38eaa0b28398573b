// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
)

// located has one configuration for each entry, each with its own initial cluster.
const located = `
variable "nodes" {
  type = map(object({
    address     = optional(string)
    scheme      = optional(string)
    peer_urls   = optional(set(string))
    client_urls = optional(set(string))
    later       = optional(bool, false)
  }))
}
resource "terraform_data" "later" {
  input = "10.255.1.29"
}
resource "etcd_initial_cluster" "this" {
  for_each      = var.nodes
  cluster_token = each.key
  members       = { first = ["https://10.255.1.10:2380"] }
}
resource "etcd_member_config" "node" {
  for_each    = var.nodes
  name        = each.key
  bootstrap   = etcd_initial_cluster.this[each.key].bootstrap
  address     = each.value.later ? terraform_data.later.output : each.value.address
  scheme      = each.value.scheme
  peer_urls   = each.value.peer_urls
  client_urls = each.value.client_urls
}
`

// place contains the arguments that locate a member in located.
type place map[string]any

// locate writes the places of the members.
func locate(t *testing.T, w *acctest.Workspace, nodes map[string]place) {
	t.Helper()
	text, err := json.Marshal(map[string]any{"nodes": nodes})
	if err != nil {
		t.Fatal(err)
	}
	w.Write("nodes.auto.tfvars.json", string(text))
}

// The plan computes the URLs from the address unless the address is unknown. A
// changed address changes the URLs. The same URLs in a different notation do
// not replace anything.
func TestAccAddress(t *testing.T) {
	t.Parallel()
	const peer, client = "https://10.255.1.20:2380", "https://10.255.1.20:2379"
	at := func(more ...any) place {
		p := place{"address": "10.255.1.20"}
		for i := 0; i < len(more); i += 2 {
			p[more[i].(string)] = more[i+1]
		}
		return p
	}
	was := at()
	changed := map[string]struct {
		to     place
		action string // "" for none
	}{
		"same-peer-urls":   {place{"peer_urls": []string{peer + "/"}}, "update"},
		"same-scheme":      {at("scheme", "https"), "update"},
		"same-client-urls": {at("client_urls", []string{client}), ""},
		"filled-in":        {place{}, "update"}, // from now on by the machine
		"address":          {place{"address": "10.255.1.21"}, "delete create"},
		"scheme":           {at("scheme", "http"), "delete create"},
		"peer-port":        {place{"peer_urls": []string{"https://10.255.1.20:2381"}}, "delete create"},
		"client-port":      {at("client_urls", []string{"https://10.255.1.20:4001"}), "delete create"},
	}
	nodes := map[string]place{"later": {"later": true}, "later-http": {"later": true, "scheme": "http"}}
	for name := range changed {
		nodes[name] = was
	}

	w := configuration(t, acctest.Access{}, located)
	locate(t, w, nodes)
	first := w.Plan()
	for _, attribute := range []string{"peer_urls", "client_urls"} {
		if v := first.Changes()[acctest.Address("etcd_member_config", "later")]; !acctest.IsUnknown(v.Unknown[attribute]) {
			t.Errorf("%s of an address that is not known is planned as %v", attribute, v.After[attribute])
		}
	}
	first.MustKnow(acctest.Address("etcd_member_config", "address"), "peer_urls", []string{peer})
	first.MustKnow(acctest.Address("etcd_member_config", "address"), "client_urls", []string{client})
	w.Apply().MustSucceed()
	for name, want := range map[string]string{"later": "https://10.255.1.29", "later-http": "http://10.255.1.29", "address": "https://10.255.1.20"} {
		now := w.State(acctest.Address("etcd_member_config", name))
		env, _ := now["environment"].(map[string]any)
		got := fmt.Sprint(now["peer_urls"], now["client_urls"], env["ETCD_INITIAL_ADVERTISE_PEER_URLS"], env["ETCD_LISTEN_PEER_URLS"], env["ETCD_ADVERTISE_CLIENT_URLS"], env["ETCD_LISTEN_CLIENT_URLS"])
		p, c := want+":2380", want+":2379"
		if want := fmt.Sprint([]string{p}, []string{c}, p, p, c, c); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}

	do, inPlace := map[string]string{}, maps.Clone(nodes)
	for name, c := range changed {
		nodes[name] = c.to
		if c.action != "" {
			do[acctest.Address("etcd_member_config", name)] = c.action
		}
		if c.action != "delete create" {
			inPlace[name] = c.to
		}
	}
	locate(t, w, nodes)
	w.Plan().MustDo(do)
	locate(t, w, inPlace)
	w.Apply().MustSucceed()
	w.Plan().MustBeEmpty()
	if now := w.State(acctest.Address("etcd_member_config", "filled-in")); now["peer_urls"] != nil || now["client_urls"] != nil {
		t.Errorf("without an address there is %v", now)
	}
	inPlace["filled-in"], inPlace["same-peer-urls"], inPlace["same-scheme"], inPlace["same-client-urls"] = was, was, was, was
	locate(t, w, inPlace)
	w.Plan().MustDo(map[string]string{
		acctest.Address("etcd_member_config", "filled-in"):      "delete create",
		acctest.Address("etcd_member_config", "same-peer-urls"): "update",
		acctest.Address("etcd_member_config", "same-scheme"):    "update",
	})
}

func TestAccAddressRefused(t *testing.T) {
	t.Parallel()
	const combination = "Invalid Attribute Combination"
	nodes, want := map[string]place{}, []string{}
	for name, c := range map[string]struct {
		place   place
		summary string
	}{
		"both":            {place{"address": "10.255.1.20", "peer_urls": []string{"https://10.255.1.20:2380"}}, combination},
		"scheme-alone":    {place{"scheme": "http"}, combination},
		"scheme-of-peers": {place{"scheme": "http", "peer_urls": []string{"http://10.255.1.20:2380"}}, combination},
		"scheme":          {place{"address": "10.255.1.20", "scheme": "ftp"}, "Invalid Attribute Value Match"},
		"port":            {place{"address": "10.255.1.20:2380"}, "Invalid address"},
		"empty":           {place{"address": ""}, "Invalid address"},
	} {
		nodes[name] = c.place
		want = append(want, acctest.Address("etcd_member_config", name)+": "+c.summary)
	}
	w := configuration(t, acctest.Access{}, located)
	locate(t, w, nodes)
	var got []string
	for _, d := range w.Plan().MustFail().Errors() {
		got = append(got, d.Address+": "+d.Summary)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
