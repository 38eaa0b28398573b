// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// strangers are members whose processes Terraform does not start.
const strangers = `
variable "nodes" {
  type = map(object({ peer = string, client = string }))
}

import {
  for_each = var.nodes
  to       = etcd_member.node[each.key]
  id       = each.key
}

resource "etcd_member" "node" {
  for_each  = var.nodes
  name      = each.key
  peer_urls = [each.value.peer]
}
`

// connected returns nil if the member at a client URL has active connections to two others.
func connected(url string) error {
	resp, err := http.Get(url + "/metrics")
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if n := len(active.FindAll(text, -1)); n != 2 {
		return fmt.Errorf("%d connections, %w", n, errors.Join(err, io.ErrNoProgress))
	}
	return nil
}

var active = regexp.MustCompile(`(?m)^etcd_network_active_peers\{.*\} 1$`)

// Peer URLs change in place, one member at a time, under writes: TLS between the members
// of a running cluster is enabled. First every process gets certificates. Then one after
// the other listens with TLS, and the operator restarts its process.
func TestAccPeerTLS(t *testing.T) {
	t.Parallel()
	f := acctest.NewFleet(t, acctest.FleetOptions{})
	names := []string{"a", "b", "c"}
	f.BootByHand()
	f.Write("main.tf", required+strangers)
	f.Write("provider.tf", acctest.Access{Endpoints: []string{f.Nodes["a"].Client}}.ProviderConfig())
	mustImport(f.Plan(), 3)
	f.Form()
	before := f.MemberIDs()

	pki := etcdtest.NewPKI(t)
	tls := strings.Join([]string{
		"ETCD_PEER_CERT_FILE=" + pki.Peer.CertFile, "ETCD_PEER_KEY_FILE=" + pki.Peer.KeyFile,
		"ETCD_PEER_TRUSTED_CA_FILE=" + pki.CAFile, "ETCD_PEER_CLIENT_CERT_AUTH=true",
	}, "\n")
	writer := f.Writer(names...)
	for _, name := range names {
		f.Rewrite(name, func(line string) string {
			if strings.HasPrefix(line, "ETCD_NAME=") {
				return line + "\n" + tls
			}
			return line
		})
		f.MustServe(name)
	}
	secured := func(name string) string { return strings.Replace(f.Nodes[name].Peer, "http:", "https:", 1) }
	plain := map[string]string{}
	for _, name := range names {
		plain[name], f.Nodes[name].Peer = f.Nodes[name].Peer, secured(name)
	}
	f.Plan().MustSay(acctest.Endangered)
	for _, name := range names {
		f.Nodes[name].Peer = plain[name]
	}
	for _, name := range names {
		f.Nodes[name].Peer = secured(name)
		f.Plan().MustDo(map[string]string{acctest.Address("etcd_member", name): "update"})
		f.Apply().MustSucceed().Says("Restart member " + name + " with its new peer URLs")
		if name == "a" { // before its restart, nobody else's URLs change
			f.Nodes["b"].Peer = secured("b")
			f.Plan().MustSay(acctest.Endangered)
			f.Nodes["b"].Peer = plain["b"]
		}
		f.Rewrite(name, func(line string) string {
			for _, key := range []string{"ETCD_LISTEN_PEER_URLS=", "ETCD_INITIAL_ADVERTISE_PEER_URLS="} {
				if strings.HasPrefix(line, key) {
					return key + f.Nodes[name].Peer
				}
			}
			return line
		})
		f.MustServe(name)
		for _, other := range names {
			etcdtest.Eventually(t, other+" has a connection to both others", func() error { return connected(f.Nodes[other].Client) })
		}
	}
	f.MustVote(names...)
	f.MustNotPause(writer, acctest.Pause, names...)
	f.MustHaveReplaced(before)
	for _, m := range f.Members() {
		if !strings.HasPrefix(m.PeerURLs[0], "https:") {
			t.Errorf("%s is reached at %v", m.Name, m.PeerURLs)
		}
	}
	f.Plan().MustBeEmpty()
}
