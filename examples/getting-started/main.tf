# A cluster with TLS on this computer. Its machines are directories in which a real
# etcd runs; everything else is as it is with virtual machines. See README.md.

terraform {
  required_version = ">= 1.11.0"
  required_providers {
    etcd = { source = "terraform-provider-etcd/etcd" }
    tls  = { source = "hashicorp/tls", version = "~> 4.2, != 4.2.0" } # 4.2.0 replaces certificates
  }
}

variable "nodes" {
  description = "The members by name, each with two free ports of 127.0.0.1."
  type        = map(object({ client_port = number, peer_port = number }))
  default = {
    a = { client_port = 24010, peer_port = 24011 }
    b = { client_port = 24020, peer_port = 24021 }
    c = { client_port = 24030, peer_port = 24031 }
  }
}

variable "image" {
  description = "Stands for the image of the machines. A change replaces one machine in each apply."
  type        = string
  default     = "one"
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

locals {
  client_url = { for name, node in var.nodes : name => "https://127.0.0.1:${node.client_port}" }
  peer_url   = { for name, node in var.nodes : name => "https://127.0.0.1:${node.peer_port}" }
}

provider "etcd" {
  endpoints = values(local.client_url)
  ca_cert   = local.ca
  cert      = local.certificates["root"]
  key       = local.keys["root"]
}

# The members that form the cluster. Later members join it.
resource "etcd_initial_cluster" "this" {
  members = { for name, url in local.peer_url : name => [url] if contains(["a", "b", "c"], name) }
}

# What changes machines goes through the rollout: one machine in each apply.
resource "etcd_rollout" "this" {
  desired = { for name, _ in var.nodes : name => var.image }
}

resource "etcd_member_config" "node" {
  for_each         = var.nodes
  name             = each.key
  peer_urls        = [local.peer_url[each.key]]
  client_urls      = [local.client_url[each.key]]
  bootstrap        = etcd_initial_cluster.this.bootstrap
  triggers_replace = etcd_rollout.this.effective[each.key]
}

module "machine" { # your virtual machine
  source    = "../local-machine"
  for_each  = var.nodes
  name      = each.key
  etcd      = var.etcd
  directory = var.directory
  config = {
    id                     = etcd_member_config.node[each.key].id
    environment            = merge(etcd_member_config.node[each.key].environment, local.tls_environment[each.key])
    join_script_base64gzip = etcd_member_config.node[each.key].join_script_base64gzip
  }
}

resource "etcd_member" "node" {
  for_each   = var.nodes
  config     = etcd_member_config.node[each.key]
  machine_id = module.machine[each.key].id # the member is removed before its machine
}

output "endpoints" {
  description = "For ETCDCTL_ENDPOINTS."
  value       = join(",", values(local.client_url))
}
