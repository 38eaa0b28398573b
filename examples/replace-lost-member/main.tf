# A member whose machine is gone is replaced by the next apply. See README.md.

terraform {
  required_version = ">= 1.11.0"
  required_providers {
    etcd = { source = "terraform-provider-etcd/etcd" }
  }
}

variable "etcd" {
  description = "The etcd on the machines: a path, or a command on PATH."
  type        = string
  default     = "../../bin/etcd-3.6"
}

variable "nodes" {
  description = "Client ports on 127.0.0.1, by name; the peer port is the next one."
  type        = map(number)
  default     = { a = 23910, b = 23920, c = 23930 }
}

provider "etcd" {
  endpoints = [for port in values(var.nodes) : "http://127.0.0.1:${port}"]
}

provider "etcd" { # the discovery cluster is another etcd
  alias     = "registry"
  endpoints = ["http://127.0.0.1:23900"]
}

module "registry" {
  source      = "../local-registry"
  client_port = 23900
  etcd        = var.etcd
}

resource "etcd_discovery_token" "this" {
  provider   = etcd.registry
  founders   = ["a", "b", "c"]
  depends_on = [module.registry]
}

resource "etcd_member_config" "node" {
  for_each    = var.nodes
  name        = each.key
  peer_urls   = ["http://127.0.0.1:${each.value + 1}"]
  client_urls = ["http://127.0.0.1:${each.value}"]
  bootstrap   = etcd_discovery_token.this.bootstrap

  replace_unreachable_after = "10s" # so that you need not wait; 10m where machines reboot
}

module "machine" { # your virtual machine
  source   = "../local-machine"
  for_each = var.nodes
  name     = each.key
  config   = etcd_member_config.node[each.key]
  etcd     = var.etcd
}

resource "etcd_member" "node" {
  for_each   = var.nodes
  config     = etcd_member_config.node[each.key]
  machine_id = module.machine[each.key].id # the member is removed before its machine
}
