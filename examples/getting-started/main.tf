# A cluster with TLS on this computer. Its machines are directories in which a real
# etcd runs. Everything else is as it is with virtual machines. See README.md.

terraform {
  required_version = ">= 1.11.0"
  required_providers {
    etcd = { source = "terraform-provider-etcd/etcd" }
    tls  = { source = "hashicorp/tls", version = "~> 4.2, != 4.2.0" } # 4.2.0 replaces certificates
  }
}

provider "etcd" {
  ca_cert = local.ca
  cert    = local.certificates["root"]
  key     = local.keys["root"]
}

locals {
  nodes = { for name, ports in var.nodes : name => { # with virtual machines: { address = "10.0.1.10" }
    peer_urls   = ["https://127.0.0.1:${ports.peer_port}"]
    client_urls = ["https://127.0.0.1:${ports.client_port}"]
  } }
}

resource "etcd_cluster" "this" {
  members  = local.nodes           # those of the first apply form the cluster, later ones join it
  version  = var.etcd_version      # a change is applied to one node in each apply
  revision = { image = var.image } # so is a change of whatever recreates a machine
}

module "machine" { # your virtual machine
  source   = "../local-machine"
  for_each = local.nodes
  image    = etcd_cluster.this.node[each.key].revision.image
  user_data = provider::etcd::cloud_config(etcd_cluster.this.node[each.key], {
    tls = { ca = local.ca, cert = local.certificates[each.key], key = local.keys[each.key] }
  })

  # A virtual machine downloads the version of its node.
  name      = each.key
  etcd      = var.etcd[etcd_cluster.this.node[each.key].version]
  directory = var.directory
}

resource "etcd_member" "node" {
  for_each   = local.nodes
  config     = etcd_cluster.this.node[each.key]
  machine_id = module.machine[each.key].id # the member is removed before its machine
}

output "endpoints" {
  description = "For ETCDCTL_ENDPOINTS."
  value       = join(",", etcd_cluster.this.endpoints)
}

output "pending" {
  description = "The nodes that do not have the new version or image yet. Apply until it is empty."
  value       = etcd_cluster.this.pending
}
