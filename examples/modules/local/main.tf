# A cluster on this computer, with the inputs and outputs of the modules for clouds. Its
# machines are directories in which a real etcd runs. Everything else is as it is with
# virtual machines.

terraform {
  required_version = ">= 1.11.0"
  required_providers {
    etcd = { source = "terraform-provider-etcd/etcd" }
  }
}

locals {
  bin       = coalesce(var.bin, "${path.module}/../../../bin")
  endpoints = [for port in values(var.nodes) : "https://127.0.0.1:${port}"]
}

module "certificates" {
  source          = "../certificates"
  name            = var.name
  nodes           = { for name, _ in var.nodes : name => ["127.0.0.1"] }
  clients         = var.clients
  gateway_clients = var.gateway_clients
  pki             = var.pki
  endpoints       = local.endpoints
}

# What changes machines goes through version and revision: one machine in each apply.
resource "etcd_cluster" "this" {
  members = { for name, port in var.nodes : name => { # with virtual machines: { address = "10.0.1.10" }
    peer_urls   = ["https://127.0.0.1:${port + 1}"]
    client_urls = ["https://127.0.0.1:${port}"]
  } }
  version                   = var.etcd_version
  revision                  = { image = var.image, size = var.size, environment = jsonencode(var.environment) }
  rebuild                   = var.rebuild
  replace_unreachable_after = "10m"
  restore                   = var.restore
}

module "machine" {
  source    = "../../local-machine"
  for_each  = var.nodes
  name      = "${var.name}-${each.key}"
  directory = var.directory
  image     = join(" ", [for key in ["image", "size"] : etcd_cluster.this.node[each.key].revision[key]])
  user_data = provider::etcd::cloud_config(etcd_cluster.this.node[each.key], {
    tls         = module.certificates.tls[each.key]
    environment = jsondecode(etcd_cluster.this.node[each.key].revision.environment)
  })

  # A virtual machine downloads the version of its node.
  etcd = "${local.bin}/etcd-${regex("^[0-9]+[.][0-9]+", etcd_cluster.this.node[each.key].version)}"
}

resource "etcd_member" "node" {
  for_each   = var.nodes
  config     = etcd_cluster.this.node[each.key]
  machine_id = module.machine[each.key].id # the member is removed before its machine
}

data "etcd_cluster" "this" {
  endpoints  = etcd_cluster.this.endpoints
  depends_on = [etcd_member.node]
}

check "etcd" {
  assert {
    condition     = data.etcd_cluster.this.healthy
    error_message = join("\n", data.etcd_cluster.this.advice)
  }
}
