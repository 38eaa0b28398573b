# The first cluster there is: no registry. Where the cluster has formed, the
# members change nothing any more.

resource "etcd_initial_cluster" "this" {
  members = { for name, node in var.nodes : name => concat([node.peer], node.peers) if contains(var.founders, name) }
}

locals {
  bootstrap = etcd_initial_cluster.this.bootstrap
}
