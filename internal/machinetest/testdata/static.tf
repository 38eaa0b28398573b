# The first cluster there is: no registry.

resource "etcd_initial_cluster" "this" {
  members = { for name, node in var.nodes : name => ["${var.scheme}://${node.address}:2380"] if contains(var.founders, name) }
}

locals {
  bootstrap = etcd_initial_cluster.this.bootstrap
}
