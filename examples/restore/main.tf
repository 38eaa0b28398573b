# A snapshot becomes a cluster: a new one, or one in place of a cluster that has lost
# its quorum. See README.md.

terraform {
  required_version = ">= 1.11.0"
  required_providers {
    etcd = { source = "terraform-provider-etcd/etcd" }
  }
}

locals {
  nodes = { a = "10.0.1.10", b = "10.0.1.11", c = "10.0.1.12" }
}

provider "etcd" {
  ca_cert = "pki/ca.pem"
  cert    = "pki/root.pem"
  key     = "pki/root-key.pem"
}

resource "etcd_cluster" "this" {
  members = { for name, address in local.nodes : name => { address = address } }
  version = "3.6.16" # the minor version of the snapshot, or a later one

  restore = var.snapshot == null ? null : {
    snapshot         = var.snapshot
    sha256           = var.sha256
    replaces_cluster = var.replaces_cluster
    gone             = var.gone

    # More than was written after the snapshot: no revision is given out twice, and
    # clients that watch from an old one are told to read everything again.
    revision_bump  = 1000000000
    mark_compacted = true
  }
}

# In place of your virtual machines. A release of etcd has etcdutl, which restores the
# snapshot.
resource "terraform_data" "machine" {
  for_each         = local.nodes
  triggers_replace = etcd_cluster.this.node[each.key].id # a rebuilt node, a new machine

  input = provider::etcd::cloud_config(etcd_cluster.this.node[each.key], {
    tls = { # files that the machines have
      ca   = "/etc/etcd/pki/ca.pem"
      cert = "/etc/etcd/pki/server.pem"
      key  = "/etc/etcd/pki/server-key.pem"
    }
  })
}

resource "etcd_member" "node" {
  for_each   = local.nodes
  config     = etcd_cluster.this.node[each.key]
  machine_id = terraform_data.machine[each.key].id # the member is removed before its machine
}
