# A cluster on Hetzner Cloud: certificates, cluster, machines and members. network.tf
# has what the machines need first.

terraform {
  required_version = ">= 1.11.0"
  required_providers {
    etcd   = { source = "terraform-provider-etcd/etcd" }
    hcloud = { source = "hetznercloud/hcloud", version = "~> 1.68" }
  }
}

locals {
  public    = { for name, _ in var.nodes : name => "https://${hcloud_primary_ip.node[name].ip_address}:2379" }
  endpoints = values(local.public)
}

module "certificates" {
  source          = "../certificates"
  name            = var.name
  nodes           = { for name, address in var.nodes : name => [address, hcloud_primary_ip.node[name].ip_address] }
  clients         = var.clients
  gateway_clients = var.gateway_clients
  pki             = var.pki
  endpoints       = local.endpoints
}

# What changes machines goes through version and revision: one machine in each
# apply. That includes the server type, which Hetzner Cloud would change by stopping
# all of them.
resource "etcd_cluster" "this" {
  members                   = { for name, address in var.nodes : name => { address = address } }
  version                   = var.etcd_version
  revision                  = { image = var.image, server_type = var.size, environment = jsonencode(var.environment) }
  rebuild                   = var.rebuild
  replace_unreachable_after = "10m"
  restore                   = var.restore
}

resource "hcloud_server" "node" {
  for_each           = var.nodes
  name               = "${var.name}-${each.key}"
  image              = etcd_cluster.this.node[each.key].revision.image
  server_type        = etcd_cluster.this.node[each.key].revision.server_type
  location           = var.location
  placement_group_id = hcloud_placement_group.this.id
  firewall_ids       = [hcloud_firewall.this.id]
  ssh_keys           = [hcloud_ssh_key.this.id]

  user_data = provider::etcd::cloud_config(etcd_cluster.this.node[each.key], {
    tls         = module.certificates.tls[each.key]
    environment = jsondecode(etcd_cluster.this.node[each.key].revision.environment)
  })

  public_net {
    ipv4         = hcloud_primary_ip.node[each.key].id
    ipv6_enabled = false
  }

  # Without alias_ips the provider detaches the network at each apply, of all
  # machines at the same time (hetznercloud/terraform-provider-hcloud#650).
  network {
    subnet_id = hcloud_network_subnet.this.id
    ip        = each.value
    alias_ips = []
  }

  lifecycle {
    replace_triggered_by = [etcd_cluster.this.node[each.key].id] # a rebuilt node, a new machine
    ignore_changes       = [ssh_keys]                            # another key goes in with the next machine
  }
}

resource "etcd_member" "node" {
  for_each   = var.nodes
  config     = etcd_cluster.this.node[each.key]
  machine_id = hcloud_server.node[each.key].id
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
