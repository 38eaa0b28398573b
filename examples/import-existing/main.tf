# Imports a cluster that runs already, with its machines. By default that is the one
# of ../local-cluster. See README.md.

terraform {
  required_version = ">= 1.11.0"
  required_providers {
    etcd = { source = "terraform-provider-etcd/etcd" }
  }
}

provider "etcd" {
  endpoints = [for node in values(var.nodes) : node.client_url] # for the import
}

import {
  to = etcd_cluster.this
  id = var.cluster_id
}

resource "etcd_cluster" "this" {
  # As the members advertise them.
  members = { for name, node in var.nodes : name => {
    peer_urls   = [node.peer_url]
    client_urls = [node.client_url]
  } }
  version = var.etcd_version # what the members run
  rebuild = var.rebuild
}

# In place of your virtual machines. They are imported before the members.
import {
  for_each = var.nodes
  to       = terraform_data.machine[each.key]
  id       = each.key
}

resource "terraform_data" "machine" {
  for_each = var.nodes
  input    = etcd_cluster.this.node[each.key].join_script_base64gzip # the user data of a virtual machine

  lifecycle {
    ignore_changes       = [input]                               # the running machine was not made from it
    replace_triggered_by = [etcd_cluster.this.node[each.key].id] # a rebuilt node gets a new machine
  }

  provisioner "local-exec" {
    command = "sh ../local-cluster/machine.sh new ../local-cluster/machines/${each.key}"
    environment = {
      no_proxy     = "*"
      ETCD_BIN     = var.etcd
      MACHINE_ENV  = join("\n", [for key, value in etcd_cluster.this.node[each.key].environment : "${key}=${value}"])
      MACHINE_JOIN = etcd_cluster.this.node[each.key].join_script_base64gzip
    }
  }

  provisioner "local-exec" {
    when    = destroy
    command = "sh ../local-cluster/machine.sh down ../local-cluster/machines/${each.key}"
  }
}

# By name; a member's ID or one of its peer URLs does as well.
import {
  for_each = var.nodes
  to       = etcd_member.node[each.key]
  id       = each.key
}

resource "etcd_member" "node" {
  for_each   = var.nodes
  config     = etcd_cluster.this.node[each.key]
  machine_id = terraform_data.machine[each.key].id
}
