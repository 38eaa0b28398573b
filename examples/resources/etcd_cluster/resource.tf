locals {
  nodes = { a = { address = "10.0.1.10" }, b = { address = "10.0.1.11" }, c = { address = "10.0.1.12" } }
}

resource "etcd_cluster" "this" {
  members                   = local.nodes             # those of the first apply form the cluster, later ones join it
  version                   = "3.6.16"                # a change is applied to one node in each apply
  revision                  = { image = "debian-12" } # so is a change of whatever recreates a machine
  replace_unreachable_after = "10m"
}

# Stands for your virtual machine.
resource "terraform_data" "machine" {
  for_each         = local.nodes
  triggers_replace = etcd_cluster.this.node[each.key].id
  input = {
    image = etcd_cluster.this.node[each.key].revision.image
    user_data = provider::etcd::cloud_config(etcd_cluster.this.node[each.key], {
      tls = { ca = "/etc/etcd/pki/ca.pem", cert = "/etc/etcd/pki/server.pem", key = "/etc/etcd/pki/server-key.pem" }
    })
  }
}

resource "etcd_member" "node" {
  for_each   = local.nodes
  config     = etcd_cluster.this.node[each.key]
  machine_id = terraform_data.machine[each.key].id # the member is removed before its machine
}

# The nodes that do not have the new version or image yet. Apply until it is empty.
output "pending" {
  value = etcd_cluster.this.pending
}
