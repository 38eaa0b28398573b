# Three members on Hetzner Cloud, from nothing to a cluster with TLS in one apply.

terraform {
  required_version = ">= 1.11.0"
  required_providers {
    etcd   = { source = "terraform-provider-etcd/etcd" }
    hcloud = { source = "hetznercloud/hcloud", version = "~> 1.68" }
    tls    = { source = "hashicorp/tls", version = "~> 4.2, != 4.2.0" } # 4.2.0 replaces certificates
  }
}

provider "hcloud" {} # HCLOUD_TOKEN

locals {
  nodes = { a = "10.0.1.10", b = "10.0.1.11", c = "10.0.1.12" } # private addresses
}

# The members reach each other in the private network, and Terraform reaches them
# at their public addresses.
provider "etcd" {
  address_map = { for name, address in local.nodes : "https://${address}:2379" => "https://${hcloud_primary_ip.node[name].ip_address}:2379" }
  ca_cert     = tls_self_signed_cert.ca.cert_pem
  cert        = tls_locally_signed_cert.root.cert_pem
  key         = tls_private_key.root.private_key_pem
}

# What changes machines goes through version and revision: one machine in each
# apply. That includes the server type, which Hetzner Cloud would change by stopping
# all of them.
resource "etcd_cluster" "this" {
  members                   = { for name, address in local.nodes : name => { address = address } }
  version                   = var.etcd_version
  revision                  = { image = var.image, server_type = var.server_type }
  replace_unreachable_after = "10m"
}

resource "hcloud_server" "node" {
  for_each           = local.nodes
  name               = "etcd-${each.key}"
  image              = etcd_cluster.this.node[each.key].revision.image
  server_type        = etcd_cluster.this.node[each.key].revision.server_type
  location           = var.location
  placement_group_id = hcloud_placement_group.this.id
  firewall_ids       = [hcloud_firewall.this.id]
  ssh_keys           = [hcloud_ssh_key.this.id]

  user_data = provider::etcd::cloud_config(etcd_cluster.this.node[each.key], {
    tls = {
      ca   = tls_self_signed_cert.ca.cert_pem
      cert = tls_locally_signed_cert.node[each.key].cert_pem
      key  = tls_private_key.node[each.key].private_key_pem
    }
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
  for_each   = local.nodes
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
