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

provider "etcd" { # the registry is another etcd
  alias     = "registry"
  endpoints = ["https://registry.example.com:2379"]
}

resource "etcd_discovery_token" "this" {
  provider = etcd.registry
  founders = ["a", "b", "c"] # who may bootstrap; or only: size = 3
}

resource "etcd_member_config" "node" {
  for_each  = local.nodes
  name      = each.key
  address   = each.value
  bootstrap = etcd_discovery_token.this.bootstrap
}

# Stands for your virtual machine. Its user data installs the environment and the
# join script of its configuration, and a service that runs them.
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
  machine_id = terraform_data.machine[each.key].id # its replacement takes the member out first
}
