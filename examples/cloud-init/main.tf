# Machines that boot with cloud-init, for Debian and Ubuntu. Put your cloud's
# own resource in place of terraform_data.machine.

terraform {
  required_version = ">= 1.11.0"
  required_providers {
    etcd = { source = "terraform-provider-etcd/etcd" }
  }
}

locals {
  client_url = { for name, node in var.nodes : name => "https://${node.address}:${node.client_port}" }
  peer_url   = { for name, node in var.nodes : name => "https://${node.address}:${node.peer_port}" }
}

provider "etcd" {
  endpoints = values(local.client_url)
  ca_cert   = "pki/ca.pem"
  cert      = "pki/root.pem"
  key       = "pki/root-key.pem"
}

provider "etcd" { # the discovery cluster is another etcd
  alias     = "registry"
  endpoints = var.registry
  ca_cert   = "pki/ca.pem"
  cert      = "pki/root.pem"
  key       = "pki/root-key.pem"
}

resource "etcd_discovery_token" "this" {
  provider = etcd.registry
  founders = var.founders

  # What the machines present to the discovery cluster: files on the machines.
  machine_access = {
    ca_cert = "${var.pki}/ca.pem"
    cert    = "${var.pki}/server.pem"
    key     = "${var.pki}/server-key.pem"
  }
}

# Rolls a new release out to one machine in each apply.
resource "etcd_rollout" "this" {
  desired = { for name, _ in var.nodes : name => jsonencode(var.archive) }
}

resource "etcd_member_config" "node" {
  for_each         = var.nodes
  name             = each.key
  peer_urls        = [local.peer_url[each.key]]
  client_urls      = [local.client_url[each.key]]
  bootstrap        = etcd_discovery_token.this.bootstrap
  triggers_replace = etcd_rollout.this.effective[each.key]
}

# Stands for your virtual machine. Its argument is called user_data, user-data or
# custom_data in place of input. What changes machines goes through the rollout,
# here the release of etcd.
resource "terraform_data" "machine" {
  for_each         = var.nodes
  triggers_replace = etcd_member_config.node[each.key].id # new user data, new machine

  input = provider::etcd::cloud_config(etcd_member_config.node[each.key], {
    etcd = jsondecode(etcd_rollout.this.effective[each.key])
    tls = { # files that the machines have
      ca   = "${var.pki}/ca.pem"
      cert = "${var.pki}/server.pem"
      key  = "${var.pki}/server-key.pem"
    }
  })
}

resource "etcd_member" "node" {
  for_each   = var.nodes
  config     = etcd_member_config.node[each.key]
  machine_id = terraform_data.machine[each.key].id # the member is removed before its machine
}
