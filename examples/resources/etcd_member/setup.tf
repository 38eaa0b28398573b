# What the example next to it stands on.
terraform {
  required_providers {
    etcd = { source = "terraform-provider-etcd/etcd" }
  }
}

provider "etcd" {
  endpoints = ["https://10.0.1.10:2379", "https://10.0.1.11:2379", "https://10.0.1.12:2379"]
}

locals {
  nodes = { a = { address = "10.0.1.10" }, b = { address = "10.0.1.11" }, c = { address = "10.0.1.12" } }
}

resource "etcd_cluster" "this" {
  members = local.nodes
}

resource "terraform_data" "machine" {
  for_each         = local.nodes
  triggers_replace = etcd_cluster.this.node[each.key].id
}
