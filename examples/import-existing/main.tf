# A cluster that somebody has started, taken over as it runs. By default that is
# the one of ../local-cluster: take its state away and this brings it back.

terraform {
  required_version = ">= 1.11.0"
  required_providers {
    etcd = { source = "terraform-provider-etcd/etcd" }
  }
}

variable "nodes" {
  description = "The members as they are: name, client URL and peer URL."
  type        = map(object({ client_url = string, peer_url = string }))
  default = {
    a = { client_url = "http://127.0.0.1:23710", peer_url = "http://127.0.0.1:23711" }
    b = { client_url = "http://127.0.0.1:23720", peer_url = "http://127.0.0.1:23721" }
    c = { client_url = "http://127.0.0.1:23730", peer_url = "http://127.0.0.1:23731" }
  }
}

provider "etcd" {
  endpoints = [for node in values(var.nodes) : node.client_url]
}

# By name; a member's ID or one of its peer URLs does as well.
import {
  for_each = var.nodes
  to       = etcd_member.node[each.key]
  id       = each.key
}

resource "etcd_member" "node" {
  for_each  = var.nodes
  name      = each.key
  peer_urls = [each.value.peer_url]
}

# What their processes would start with if they joined now: for the day on which
# a machine is built anew. Nothing about the present ones changes.
import {
  for_each = var.nodes
  to       = etcd_member_config.node[each.key]
  id       = each.key
}

resource "etcd_member_config" "node" {
  for_each    = var.nodes
  name        = each.key
  peer_urls   = [each.value.peer_url]
  client_urls = [each.value.client_url]
}

output "versions" {
  value = { for name, member in etcd_member.node : name => member.version }
}
