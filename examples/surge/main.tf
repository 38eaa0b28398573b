# Replaces all machines of a cluster: new members first, under new names, then the
# old ones are removed. The cluster always tolerates at least one failure. See README.md.

terraform {
  required_version = ">= 1.11.0"
  required_providers {
    etcd = { source = "terraform-provider-etcd/etcd" }
  }
}

variable "nodes" {
  description = "The members by name, each with the ports of 127.0.0.1 that are its own."
  type        = map(object({ client_port = number, peer_port = number }))
  default = {
    a = { client_port = 23960, peer_port = 23961 }
    b = { client_port = 23962, peer_port = 23963 }
    c = { client_port = 23964, peer_port = 23965 }
  }
}

variable "founders" {
  description = "The members that form the cluster. It stays as it is when they are removed later."
  type        = set(string)
  default     = ["a", "b", "c"]
}

variable "etcd" {
  description = "The etcd on the machines: a path, or a command on PATH."
  type        = string
  default     = "../../bin/etcd-3.6"
}

variable "directory" {
  description = "Where the machines are, a directory for each."
  type        = string
  default     = "machines"
}

provider "etcd" {
  endpoints = [for node in values(var.nodes) : "http://127.0.0.1:${node.client_port}"]
}

resource "etcd_initial_cluster" "this" {
  members = { for name, node in var.nodes : name => ["http://127.0.0.1:${node.peer_port}"] if contains(var.founders, name) }
}

resource "etcd_member_config" "node" {
  for_each    = var.nodes
  name        = each.key
  peer_urls   = ["http://127.0.0.1:${each.value.peer_port}"]
  client_urls = ["http://127.0.0.1:${each.value.client_port}"]
  bootstrap   = etcd_initial_cluster.this.bootstrap
}

module "machine" { # your virtual machine
  source    = "../local-machine"
  for_each  = var.nodes
  name      = each.key
  config    = etcd_member_config.node[each.key]
  etcd      = var.etcd
  directory = var.directory
}

resource "etcd_member" "node" {
  for_each   = var.nodes
  config     = etcd_member_config.node[each.key]
  machine_id = module.machine[each.key].id
}
