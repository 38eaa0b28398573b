# Three members of etcd, and machines with PostgreSQL and Patroni apart from them.
# Put your cloud's own resources in place of terraform_data.

terraform {
  required_version = ">= 1.11.0"
  required_providers {
    etcd = { source = "terraform-provider-etcd/etcd" }
  }
}

provider "etcd" {
  ca_cert = "pki/ca.pem"
  cert    = "pki/root.pem"
  key     = "pki/root-key.pem"
}

resource "etcd_cluster" "this" {
  members                   = { for name, address in var.nodes : name => { address = address } }
  version                   = var.etcd_version
  replace_unreachable_after = "10m"
}

# Stands for the virtual machine of a member.
resource "terraform_data" "machine" {
  for_each         = var.nodes
  triggers_replace = etcd_cluster.this.node[each.key].id # new user data, new machine

  input = provider::etcd::cloud_config(etcd_cluster.this.node[each.key], {
    tls = { # files that the machines have
      ca   = "/etc/etcd/pki/ca.pem"
      cert = "/etc/etcd/pki/server.pem"
      key  = "/etc/etcd/pki/server-key.pem"
    }
  })
}

resource "etcd_member" "node" {
  for_each   = var.nodes
  config     = etcd_cluster.this.node[each.key]
  machine_id = terraform_data.machine[each.key].id # the member is removed before its machine
}

# Stands for the virtual machine of a database.
resource "terraform_data" "database" {
  for_each = var.databases

  input = templatefile("${path.module}/user-data.yaml.tftpl", {
    name      = each.key
    address   = each.value
    hosts     = [for url in etcd_cluster.this.endpoints : trimprefix(url, "https://")]
    ca        = file("pki/ca.pem")
    cert      = file("pki/patroni.pem")
    key       = file("pki/patroni-key.pem")
    passwords = var.passwords
  })

  # More members of etcd are no reason for a new database: Patroni follows the member
  # list, and needs one of these hosts when it starts.
  lifecycle {
    ignore_changes = [input]
  }

  depends_on = [etcd_member.node] # databases are created after etcd, and destroyed before
}
