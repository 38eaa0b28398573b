// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// With any protocol, one apply forms the cluster. A fourth node joins, and a roll needs
// no token. The destroy removes the token where it can.
func TestAccDiscovery(t *testing.T) {
	t.Parallel()
	pki := etcdtest.NewPKI(t)
	for name, o := range map[string]FleetOptions{
		"v2":      {Protocol: "v2", Registry: etcdtest.V35, Version: etcdtest.V35},
		"v3":      {Protocol: "v3", Registry: etcdtest.V35, Version: etcdtest.V37},
		"service": {Protocol: "service", Service: etcdtest.NewDiscoveryService(t, pki), RegistryCA: pki.CAFile, Version: etcdtest.V36},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := NewFleet(t, o)
			f.Form()
			f.Plan().MustBeEmpty()
			f.Add("d")
			f.Form()
			f.Plan().MustBeEmpty()
			f.Drop("d")
			f.Form()
			f.Image = "two"
			before := f.MemberIDs()
			f.Form()
			f.MustHaveReplaced(before, "a")
			if s := o.Service; s != nil && s.Minted() != 1 {
				t.Errorf("%d tokens were created, want 1", s.Minted())
			}
			f.Destroy().MustSucceed()
			f.MustBeGone()
			if o.Protocol == "v3" {
				left, err := f.Registry.Client(t).Get(etcdtest.WaitContext(t), "/_etcd/registry/", clientv3.WithPrefix())
				if err != nil || len(left.Kvs) > 0 {
					t.Errorf("left in the discovery cluster: %v, %v", left, err)
				}
			}
		})
	}
}

// unknownAddresses has nodes whose machines choose their own addresses when they boot.
const unknownAddresses = `
locals {
  nodes = { for name, node in var.nodes : name => {} }
}

resource "terraform_data" "machine" {
  provisioner "local-exec" {
    command = "sh \"$MACHINE_SH\" new \"$MACHINE_DIR\""
    environment = {
      MACHINE_SH  = self.input.sh
      MACHINE_DIR = self.input.dir
      MACHINE_ENV = join("\n", [for k, v in merge(var.environment, etcd_cluster.this.node[each.key].environment, {
        ETCD_LISTEN_PEER_URLS             = var.nodes[each.key].peer
        ETCD_INITIAL_ADVERTISE_PEER_URLS  = var.nodes[each.key].peer
        ETCD_LISTEN_CLIENT_URLS           = var.nodes[each.key].client
        ETCD_ADVERTISE_CLIENT_URLS        = var.nodes[each.key].client
      }) : "${k}=${v}"])
      MACHINE_JOIN = etcd_cluster.this.node[each.key].join_script_base64gzip
      ETCD_BIN     = var.nodes[each.key].etcd
    }
  }

  provisioner "local-exec" {
    when    = destroy
    command = "sh \"$MACHINE_SH\" down \"$MACHINE_DIR\""
    environment = {
      MACHINE_SH  = self.input.sh
      MACHINE_DIR = self.input.dir
    }
  }
}

resource "etcd_member" "node" {
  peer_urls = [terraform_data.machine[each.key].id == "" ? "" : var.nodes[each.key].peer]
  endpoints = [for name, node in var.nodes : terraform_data.machine[name].id == "" ? "" : node.client]
}
`

// The addresses of the nodes are unknown before their machines have booted.
func TestAccUnknownAddresses(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{Protocol: "v3"})
	f.Write("machine_override.tf", unknownAddresses)
	p := f.Plan()
	if n := len(p.Actions()); n != 8 {
		t.Errorf("%d changes are planned, want 8: %v", n, p.Actions())
	}
	f.Form()
	f.Plan().MustBeEmpty()
	f.Add("d")
	f.Form()
	f.Plan().MustBeEmpty()
	f.Drop("d")
	f.Form()
	f.Destroy().MustSucceed()
	f.MustBeGone()
}

// Everything except a backup is lost, including the state: one apply forms a
// cluster from it. A new member gets the data from the others.
func TestAccRestore(t *testing.T) {
	t.Parallel()
	for _, v := range etcdtest.Sample(etcdtest.V36) {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			f := NewFleet(t, FleetOptions{Version: v})
			f.Form()
			client, ctx := f.Client("a"), etcdtest.WaitContext(t)
			put := func(key string) {
				t.Helper()
				if _, err := client.Put(ctx, key, "value"); err != nil {
					t.Fatal(err)
				}
			}
			put("kept")
			snapshot, sum := backup(ctx, t, client)
			put("late")
			f.Destroy().MustSucceed()
			f.MustBeGone()

			f.Write("restore_override.tf", fmt.Sprintf("resource \"etcd_cluster\" \"this\" {\n  restore = {\n    snapshot = %q\n    sha256 = %q\n  }\n}\n", snapshot, sum))
			f.Form().MustBeQuiet()
			f.Settled()
			f.Add("d")
			f.Form()
			f.Settled()
			for _, name := range f.names() {
				kept, err1 := f.Client(name).Get(ctx, "kept")
				late, err2 := f.Client(name).Get(ctx, "late")
				if err1 != nil || err2 != nil || len(kept.Kvs) != 1 || len(late.Kvs) != 0 {
					t.Errorf("%s has %v and %v (%v, %v)", name, kept, late, err1, err2)
				}
			}
		})
	}
}

// backup saves a snapshot, and returns its path and its SHA-256.
func backup(ctx context.Context, t *testing.T, client *clientv3.Client) (path, sum string) {
	t.Helper()
	stream, err := client.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(stream)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "snapshot.db")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, strings.ToLower(fmt.Sprintf("%x", sha256.Sum256(text)))
}
