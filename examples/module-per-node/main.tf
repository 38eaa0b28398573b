# A module block for each node: so -target applies to one node alone. See README.md.

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

locals {
  nodes = { a = 24110, b = 24120, c = 24130 }
}

provider "etcd" {
  endpoints = [for port in values(local.nodes) : "http://127.0.0.1:${port}"]
}

provider "etcd" { # the discovery cluster is another etcd
  alias     = "registry"
  endpoints = ["http://127.0.0.1:24100"]
}

module "registry" {
  source      = "../local-registry"
  client_port = 24100
  etcd        = var.etcd
}

resource "etcd_discovery_token" "this" {
  provider   = etcd.registry
  founders   = ["a", "b", "c"]
  depends_on = [module.registry]
}

resource "etcd_rollout" "this" { # a new image goes to one node with each apply
  desired = { for name, _ in local.nodes : name => var.image }
}

module "a" {
  source    = "./node"
  name      = "a"
  port      = local.nodes["a"]
  bootstrap = etcd_discovery_token.this.bootstrap
  image     = etcd_rollout.this.effective["a"]
  etcd      = var.etcd
}

module "b" {
  source    = "./node"
  name      = "b"
  port      = local.nodes["b"]
  bootstrap = etcd_discovery_token.this.bootstrap
  image     = etcd_rollout.this.effective["b"]
  etcd      = var.etcd
}

module "c" {
  source    = "./node"
  name      = "c"
  port      = local.nodes["c"]
  bootstrap = etcd_discovery_token.this.bootstrap
  image     = etcd_rollout.this.effective["c"]
  etcd      = var.etcd
}

output "members" {
  value = { a = module.a.member, b = module.b.member, c = module.c.member }
}
