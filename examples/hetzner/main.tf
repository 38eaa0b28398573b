# Three members on Hetzner Cloud, in a private network and a spread placement
# group. Formatted and checked for syntax; the provider for Hetzner Cloud is not
# run in tests. Terraform runs where it reaches the private network.

terraform {
  required_version = ">= 1.11.0"
  required_providers {
    etcd   = { source = "terraform-provider-etcd/etcd" }
    hcloud = { source = "hetznercloud/hcloud", version = ">= 1.45" }
  }
}

variable "image" {
  description = "What the machines are made from. A change goes through the members one at a time, one in each apply."
  type        = string
  default     = "debian-12"
}

variable "registry" {
  description = "Client URLs of the etcd in which the founders meet."
  type        = list(string)
}

variable "archive" {
  description = "A release of etcd and its SHA-256."
  type        = object({ url = string, sha256 = string })
}

locals {
  nodes = { a = "10.0.1.10", b = "10.0.1.11", c = "10.0.1.12" }

  # What etcd trusts and shows: files that the machines have.
  tls = {
    ca   = "/etc/etcd/pki/ca.pem"
    cert = "/etc/etcd/pki/server.pem"
    key  = "/etc/etcd/pki/server-key.pem"
  }
}

provider "hcloud" {} # HCLOUD_TOKEN

provider "etcd" {
  endpoints = [for address in values(local.nodes) : "https://${address}:2379"]
  ca_cert   = "pki/ca.pem"
  cert      = "pki/root.pem"
  key       = "pki/root-key.pem"
}

provider "etcd" {
  alias     = "registry"
  endpoints = var.registry
  ca_cert   = "pki/ca.pem"
  cert      = "pki/root.pem"
  key       = "pki/root-key.pem"
}

resource "hcloud_network" "this" {
  name     = "etcd"
  ip_range = "10.0.0.0/16"
}

resource "hcloud_network_subnet" "this" {
  network_id   = hcloud_network.this.id
  type         = "cloud"
  network_zone = "eu-central"
  ip_range     = "10.0.1.0/24"
}

resource "hcloud_placement_group" "this" { # no two of them on one host
  name = "etcd"
  type = "spread"
}

resource "etcd_discovery_token" "this" {
  provider = etcd.registry
  founders = ["a", "b", "c"]
  machine_access = {
    ca_cert = "/etc/etcd/pki/ca.pem"
    cert    = "/etc/etcd/pki/server.pem"
    key     = "/etc/etcd/pki/server-key.pem"
  }
}

resource "etcd_rollout" "this" {
  desired = { for name, _ in local.nodes : name => var.image }
}

resource "etcd_member_config" "node" {
  for_each                  = local.nodes
  name                      = each.key
  address                   = each.value
  bootstrap                 = etcd_discovery_token.this.bootstrap
  triggers_replace          = etcd_rollout.this.effective[each.key]
  replace_unreachable_after = "10m"
}

resource "hcloud_server" "node" {
  for_each           = local.nodes
  name               = "etcd-${each.key}"
  image              = etcd_rollout.this.effective[each.key]
  server_type        = "cpx21"
  location           = "fsn1"
  placement_group_id = hcloud_placement_group.this.id

  user_data = provider::etcd::cloud_config(etcd_member_config.node[each.key], {
    etcd = var.archive
    tls  = local.tls
  })

  network {
    network_id = hcloud_network.this.id
    ip         = each.value
  }

  lifecycle {
    ignore_changes       = [user_data]                            # another release of etcd goes in with the next image
    replace_triggered_by = [etcd_member_config.node[each.key].id] # a new configuration, a new machine
  }

  depends_on = [hcloud_network_subnet.this]
}

resource "etcd_member" "node" {
  for_each   = local.nodes
  config     = etcd_member_config.node[each.key]
  machine_id = hcloud_server.node[each.key].id
}
