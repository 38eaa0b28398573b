// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// membersText is for members whose processes Terraform does not start.
const membersText = `
terraform {
  required_providers {
    etcd = {
      source = "terraform-provider-etcd/etcd"
    }
  }
}

variable "nodes" {
  type = map(object({ peer = string, client = string }))
}

# What a fleet says besides.
variable "machines" {
  type = string
}
variable "machine_sh" {
  type = string
}
variable "environment" {
  type = map(string)
}
variable "founders" {
  type = any
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

// byHand returns a cluster of three that was started by hand and imported.
func byHand(t *testing.T) *acctest.Fleet {
	t.Helper()
	f := acctest.NewFleet(t, acctest.FleetOptions{Static: true})
	bootAll(f)
	replaceConfiguration(f, membersText)
	mustImport(f.Plan(), 3)
	f.Apply().MustSucceed().MustBeQuiet()
	f.Plan().MustBeEmpty()
	return f
}

// listens returns the change of the environment of a process that gets another
// peer URL.
func listens(to string) func(line string) string {
	return func(line string) string {
		for _, key := range []string{"ETCD_LISTEN_PEER_URLS=", "ETCD_INITIAL_ADVERTISE_PEER_URLS="} {
			if strings.HasPrefix(line, key) {
				return key + to
			}
		}
		return line
	}
}

// mustSayRestart fails the test unless the only warnings are the one to restart
// the member with its new peer URLs, and those of the CLI about -target.
func mustSayRestart(f *acctest.Fleet, o *acctest.Outcome, name string) {
	f.TB.Helper()
	said := 0
	for _, w := range o.Warnings() {
		switch w.Summary {
		case "Resource targeting is in effect", "Applied changes may be incomplete":
		case "Restart member " + name + " with its new peer URLs":
			said++
			w.MustDetail(f.TB, "The cluster now reaches "+name+" at "+f.Nodes[name].Peer+
				". Until its process listens there (ETCD_LISTEN_PEER_URLS, ETCD_INITIAL_ADVERTISE_PEER_URLS), the others cannot reach it. Restart it now, before anything else changes.")
		default:
			f.TB.Errorf("unexpected %s", w)
		}
	}
	if said != 1 {
		f.TB.Errorf("%d times it is said to restart %s:\n%s", said, name, o.Report())
	}
}

// Peer URLs change in place, one member at a time, including the leader. The
// operator restarts each process.
func TestAccReaddress(t *testing.T) {
	t.Parallel()
	f := byHand(t)
	before := f.Named("a", "b", "c")
	old := map[string]string{}
	for name, n := range f.Nodes {
		old[name] = n.Peer
		n.Peer = fmt.Sprintf("http://127.0.0.1:%d", etcdtest.ReservePort(t))
	}
	e := f.Plan().MustSay("Peer URLs of several members would change")
	e.MustContain(t, e.Summary, "The peer URLs of ", " are all to change.", "Nothing has been changed. Change one, apply, restart its process, then the next.")
	writer := f.Writer("a", "b", "c")
	leader := f.Leader("a", "b", "c")
	for _, name := range []string{leader, "a", "b", "c"} {
		if old[name] == "" {
			continue // the leader was first
		}
		delete(old, name)
		target := "-target=" + acctest.Address("etcd_member", name)
		plan := f.Plan(target)
		plan.MustDo(map[string]string{acctest.Address("etcd_member", name): "update"})
		plan.MustNotKnow(acctest.Address("etcd_member", name))
		mustSayRestart(f, f.Apply(target).MustSucceed(), name)
		f.Rewrite(name, listens(f.Nodes[name].Peer))
		f.MustServe(name)
	}
	f.MustVote("a", "b", "c")
	f.MustNotPause(writer, acctest.Pause, "a", "b", "c")
	t.Logf("longest gap %v", writer.LongestGap())
	f.Plan().MustBeEmpty()
	if after := f.Named("a", "b", "c"); after != before {
		t.Errorf("the members are %s, and were %s", after, before)
	}
}

// TLS between the members of a running cluster is enabled: first every process
// gets certificates, then one after the other listens with TLS.
func TestAccPeerTLS(t *testing.T) {
	t.Parallel()
	f := byHand(t)
	pki := etcdtest.NewPKI(t)
	tls := []string{
		"ETCD_PEER_CERT_FILE=" + pki.Peer.CertFile, "ETCD_PEER_KEY_FILE=" + pki.Peer.KeyFile,
		"ETCD_PEER_TRUSTED_CA_FILE=" + pki.CAFile, "ETCD_PEER_CLIENT_CERT_AUTH=true",
	}
	names := slices.Sorted(maps.Keys(f.Nodes))
	writer := f.Writer(names...)
	for _, name := range names {
		f.Rewrite(name, func(line string) string {
			if strings.HasPrefix(line, "ETCD_NAME=") {
				return line + "\n" + strings.Join(tls, "\n")
			}
			return line
		})
		f.MustServe(name)
	}
	for _, name := range names {
		f.Nodes[name].Peer = strings.Replace(f.Nodes[name].Peer, "http:", "https:", 1)
		f.Plan().MustDo(map[string]string{acctest.Address("etcd_member", name): "update"})
		mustSayRestart(f, f.Apply().MustSucceed(), name)
		f.Rewrite(name, listens(f.Nodes[name].Peer))
		f.MustServe(name)
	}
	f.MustNotPause(writer, acctest.Pause, names...)
	f.MustVote(names...)
	for _, m := range f.Members() {
		if !strings.HasPrefix(m.PeerURLs[0], "https:") {
			t.Errorf("%s is reached at %v", m.Name, m.PeerURLs)
		}
	}
	f.Plan().MustBeEmpty()
}
