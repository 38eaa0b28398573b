# Another image on every machine, one member with each apply. See README.md.

terraform {
  required_version = ">= 1.11.0"
  required_providers {
    etcd = { source = "terraform-provider-etcd/etcd" }
  }
}

variable "image" {
  description = "What the machines are made from. Here nothing but a word: a change makes them anew."
  type        = string
  default     = "one"
}

variable "etcd" {
  description = "The etcd on the machines: a path, or a command on PATH."
  type        = string
  default     = "../../bin/etcd-3.6"
}

variable "nodes" {
  description = "Client ports on 127.0.0.1, by name; the peer port is the next one."
  type        = map(number)
  default     = { a = 23810, b = 23820, c = 23830 }
}

provider "etcd" {
  endpoints = [for port in values(var.nodes) : "http://127.0.0.1:${port}"]
}

provider "etcd" { # the registry is another etcd
  alias     = "registry"
  endpoints = ["http://127.0.0.1:23800"]
}

module "registry" {
  source      = "../local-registry"
  client_port = 23800
  etcd        = var.etcd
}

resource "etcd_discovery_token" "this" {
  provider   = etcd.registry
  founders   = ["a", "b", "c"]
  depends_on = [module.registry]
}

# Lets one node through with each apply, the first in order of name, while
# every member is well.
resource "etcd_rollout" "this" {
  desired = { for name, port in var.nodes : name => var.image }
}

resource "etcd_member_config" "node" {
  for_each    = var.nodes
  name        = each.key
  peer_urls   = ["http://127.0.0.1:${each.value + 1}"]
  client_urls = ["http://127.0.0.1:${each.value}"]
  bootstrap   = etcd_discovery_token.this.bootstrap

  triggers_replace = etcd_rollout.this.effective[each.key]
}

module "machine" { # your virtual machine
  source   = "../local-machine"
  for_each = var.nodes
  name     = each.key
  config   = etcd_member_config.node[each.key]
  etcd     = var.etcd # a real machine takes image = etcd_rollout.this.effective[each.key]
}

resource "etcd_member" "node" {
  for_each   = var.nodes
  config     = etcd_member_config.node[each.key]
  machine_id = module.machine[each.key].id # its replacement takes the member out first
}

output "still_waiting" {
  description = "Apply until it is empty."
  value       = etcd_rollout.this.pending
}
