# Replaces all machines of a cluster: new members first, under new names, then the
# old ones are removed. The cluster always tolerates at least one failure. See README.md.

terraform {
  required_version = ">= 1.11.0"
  required_providers {
    etcd = { source = "terraform-provider-etcd/etcd" }
  }
}

provider "etcd" {}

resource "etcd_cluster" "this" {
  members = { for name, node in var.nodes : name => {
    peer_urls   = ["http://127.0.0.1:${node.peer_port}"]
    client_urls = ["http://127.0.0.1:${node.client_port}"]
  } }
}

module "machine" { # your virtual machine
  source    = "../local-machine"
  for_each  = var.nodes
  name      = each.key
  config    = etcd_cluster.this.node[each.key]
  etcd      = var.etcd
  directory = var.directory
}

resource "etcd_member" "node" {
  for_each   = var.nodes
  config     = etcd_cluster.this.node[each.key]
  machine_id = module.machine[each.key].id # the member is removed before its machine
}
