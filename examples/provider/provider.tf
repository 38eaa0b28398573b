terraform {
  required_providers {
    etcd = { source = "terraform-provider-etcd/etcd" }
  }
}

provider "etcd" { # the nodes know their addresses
  ca_cert = "pki/ca.pem"
  cert    = "pki/root.pem"
  key     = "pki/root-key.pem"
}

locals {
  nodes = { a = { address = "10.0.1.10" }, b = { address = "10.0.1.11" }, c = { address = "10.0.1.12" } }
}

variable "image" {
  type    = string
  default = "debian-12"
}

resource "etcd_cluster" "this" {
  members                   = local.nodes           # those of the first apply form the cluster, later ones join it
  version                   = "3.6.16"              # a change is applied to one node in each apply
  revision                  = { image = var.image } # so is a change of whatever recreates a machine
  replace_unreachable_after = "10m"                 # optional
}

# Replace this with your machine resource, its image and its user data.
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
