terraform {
  required_providers {
    etcd = { source = "terraform-provider-etcd/etcd" }
  }
}

locals {
  nodes = { a = "10.0.1.10", b = "10.0.1.11", c = "10.0.1.12" }
}

provider "etcd" {
  endpoints = [for ip in values(local.nodes) : "https://${ip}:2379"]
  ca_cert   = "pki/ca.pem"
  cert      = "pki/root.pem"
  key       = "pki/root-key.pem"
}

resource "etcd_initial_cluster" "this" {
  members = { for name in ["a", "b", "c"] : name => ["https://${local.nodes[name]}:2380"] }
}

resource "etcd_member_config" "node" {
  for_each  = local.nodes
  name      = each.key
  address   = each.value
  bootstrap = etcd_initial_cluster.this.bootstrap
}

# Replace this with your machine resource. Its user data installs the environment,
# the join script and the systemd unit of etcd.
resource "terraform_data" "machine" {
  for_each         = local.nodes
  triggers_replace = etcd_member_config.node[each.key].id
  input = provider::etcd::cloud_config(etcd_member_config.node[each.key], {
    etcd = { path = "/usr/bin" } # what the image has
    tls  = { ca = "/etc/etcd/pki/ca.pem", cert = "/etc/etcd/pki/server.pem", key = "/etc/etcd/pki/server-key.pem" }
  })
}

resource "etcd_member" "node" {
  for_each   = local.nodes
  config     = etcd_member_config.node[each.key]
  machine_id = terraform_data.machine[each.key].id # the member is removed before its machine
}
