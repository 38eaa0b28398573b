# From one minor version of etcd to the next, one member with each apply. See
# README.md.

terraform {
  required_version = ">= 1.11.0"
  required_providers {
    etcd = { source = "terraform-provider-etcd/etcd" }
  }
}

variable "etcd_version" {
  description = "The version of etcd on the machines."
  type        = string
  default     = "3.6"
}

variable "binaries" {
  description = "Where each version of etcd is. Real machines would install it, or come with it in their image."
  type        = map(string)
  default     = { "3.6" = "../../bin/etcd-3.6", "3.7" = "../../bin/etcd-3.7" }
}

variable "nodes" {
  description = "Client ports on 127.0.0.1, by name; the peer port is the next one."
  type        = map(number)
  default     = { a = 24010, b = 24020, c = 24030 }
}

provider "etcd" {
  endpoints = [for port in values(var.nodes) : "http://127.0.0.1:${port}"]
}

provider "etcd" { # the discovery cluster is another etcd
  alias     = "registry"
  endpoints = ["http://127.0.0.1:24000"]
}

module "registry" {
  source      = "../local-registry"
  client_port = 24000
  etcd        = var.binaries["3.6"]
}

resource "etcd_discovery_token" "this" {
  provider   = etcd.registry
  founders   = ["a", "b", "c"]
  depends_on = [module.registry]
}

# Lets one node through with each apply, the first in order of name, while
# every member is well.
resource "etcd_rollout" "this" {
  desired = { for name, port in var.nodes : name => var.etcd_version }
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
  etcd     = var.binaries[etcd_rollout.this.effective[each.key]]
}

resource "etcd_member" "node" {
  for_each   = var.nodes
  config     = etcd_member_config.node[each.key]
  machine_id = module.machine[each.key].id # the member is removed before its machine
}

output "still_waiting" {
  description = "Apply until it is empty."
  value       = etcd_rollout.this.pending
}

output "versions" {
  description = "What each member runs."
  value       = { for name, member in etcd_member.node : name => member.version }
}
