# Three members as virtual machines of libvirt, with fixed addresses in a network
# of their own. Formatted and checked for syntax; the provider for libvirt is not
# run in tests.

terraform {
  required_version = ">= 1.11.0"
  required_providers {
    etcd    = { source = "terraform-provider-etcd/etcd" }
    libvirt = { source = "dmacvicar/libvirt", version = "~> 0.8.0" }
  }
}

variable "image" {
  description = "A cloud image of Debian or Ubuntu: a path or a URL. A change goes through the members one at a time, one in each apply."
  type        = string
}

variable "archive" {
  description = "A release of etcd and its SHA-256."
  type        = object({ url = string, sha256 = string })
}

locals {
  nodes = { a = "10.17.3.10", b = "10.17.3.11", c = "10.17.3.12" }

  # What etcd trusts and shows: files that the machines have.
  tls = {
    ca   = "/etc/etcd/pki/ca.pem"
    cert = "/etc/etcd/pki/server.pem"
    key  = "/etc/etcd/pki/server-key.pem"
  }
}

provider "libvirt" {
  uri = "qemu:///system"
}

provider "etcd" {
  endpoints = [for address in values(local.nodes) : "https://${address}:2379"]
  ca_cert   = "pki/ca.pem"
  cert      = "pki/root.pem"
  key       = "pki/root-key.pem"
}

resource "libvirt_network" "this" {
  name      = "etcd"
  addresses = ["10.17.3.0/24"]
}

# The first cluster there is: no registry yet, so every founder is told of the
# others.
resource "etcd_initial_cluster" "this" {
  members = { for name in ["a", "b", "c"] : name => ["https://${local.nodes[name]}:2380"] }
}

resource "etcd_rollout" "this" {
  desired = { for name, _ in local.nodes : name => var.image }
}

resource "etcd_member_config" "node" {
  for_each         = local.nodes
  name             = each.key
  address          = each.value
  bootstrap        = etcd_initial_cluster.this.bootstrap
  triggers_replace = etcd_rollout.this.effective[each.key]
}

resource "libvirt_volume" "node" {
  for_each = local.nodes
  name     = "etcd-${each.key}.qcow2"
  source   = etcd_rollout.this.effective[each.key]

  lifecycle {
    replace_triggered_by = [etcd_member_config.node[each.key].id] # a new configuration, an empty disk
  }
}

resource "libvirt_cloudinit_disk" "node" {
  for_each = local.nodes
  name     = "etcd-${each.key}.iso"
  user_data = provider::etcd::cloud_config(etcd_member_config.node[each.key], {
    etcd = var.archive
    tls  = local.tls
  })

  lifecycle {
    ignore_changes       = [user_data] # another release of etcd goes in with the next image
    replace_triggered_by = [etcd_member_config.node[each.key].id]
  }
}

resource "libvirt_domain" "node" {
  for_each  = local.nodes
  name      = "etcd-${each.key}"
  memory    = 2048
  vcpu      = 2
  cloudinit = libvirt_cloudinit_disk.node[each.key].id

  disk {
    volume_id = libvirt_volume.node[each.key].id
  }

  network_interface {
    network_id     = libvirt_network.this.id
    addresses      = [each.value]
    wait_for_lease = true
  }

  lifecycle {
    replace_triggered_by = [etcd_member_config.node[each.key].id]
  }
}

resource "etcd_member" "node" {
  for_each   = local.nodes
  config     = etcd_member_config.node[each.key]
  machine_id = libvirt_domain.node[each.key].id
}
