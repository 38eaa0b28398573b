resource "etcd_initial_cluster" "this" {
  # After the cluster has formed, nodes that are added here join it. The
  # resource does not change.
  members = { for name, ip in local.nodes : name => ["https://${ip}:2380"] }
}

resource "etcd_member_config" "node" {
  for_each  = local.nodes
  name      = each.key
  address   = each.value
  bootstrap = etcd_initial_cluster.this.bootstrap
}
