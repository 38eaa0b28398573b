# What the example next to it stands on.
terraform {
  required_providers {
    etcd = { source = "terraform-provider-etcd/etcd" }
  }
}

provider "etcd" {
  endpoints = ["https://10.0.1.10:2379", "https://10.0.1.11:2379", "https://10.0.1.12:2379"]
}

provider "etcd" {
  alias     = "registry"
  endpoints = ["https://registry.example.com:2379"]
}

locals {
  nodes = { a = "10.0.1.10", b = "10.0.1.11", c = "10.0.1.12" }
}

resource "etcd_discovery_token" "this" {
  provider = etcd.registry
  founders = ["a", "b", "c"]
}

resource "etcd_member_config" "node" {
  for_each  = local.nodes
  name      = each.key
  address   = each.value
  bootstrap = etcd_discovery_token.this.bootstrap
}

resource "terraform_data" "machine" {
  for_each         = local.nodes
  triggers_replace = etcd_member_config.node[each.key].id
}
