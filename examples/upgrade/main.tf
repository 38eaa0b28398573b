# Upgrades etcd, rolls an image and replaces a failed member: one node in each
# apply. See README.md.

terraform {
  required_version = ">= 1.11.0"
  required_providers {
    etcd = { source = "terraform-provider-etcd/etcd" }
  }
}

provider "etcd" {}

resource "etcd_cluster" "this" {
  members = { for name, port in var.nodes : name => {
    peer_urls   = ["http://127.0.0.1:${port + 1}"]
    client_urls = ["http://127.0.0.1:${port}"]
  } }
  version                   = var.etcd_version
  revision                  = { image = var.image }
  replace_unreachable_after = "10s" # so that you need not wait; 10m if machines reboot
}

module "machine" { # your virtual machine
  source   = "../local-machine"
  for_each = var.nodes
  name     = each.key
  config   = etcd_cluster.this.node[each.key]
  etcd     = var.binaries[etcd_cluster.this.node[each.key].version] # a real machine takes image = etcd_cluster.this.node[each.key].revision.image
}

resource "etcd_member" "node" {
  for_each   = var.nodes
  config     = etcd_cluster.this.node[each.key]
  machine_id = module.machine[each.key].id # the member is removed before its machine
}
