# What a user writes, with machines that are directories on this computer.

terraform {
  required_providers {
    etcd = {
      source = "terraform-provider-etcd/etcd"
    }
  }
}

variable "nodes" {
  type = map(object({ client = string, peer = string }))
}

variable "etcd" {
  type = object({
    version = optional(string)
    image   = string
    after   = optional(string)
  })
}

# Unused here: which nodes form the cluster, etcd_cluster decides.
variable "founders" {
  type = set(string)
}

# Where the machines are, what runs them, what all of them have, and the etcd that an
# image has, by version and then by image.
variable "machines" {
  type = string
}

variable "machine_sh" {
  type = string
}

variable "environment" {
  type = map(string)
}

variable "binaries" {
  type = map(string)
}

locals {
  nodes = { for name, node in var.nodes : name => { peer_urls = [node.peer], client_urls = [node.client] } }
}

provider "etcd" {}

resource "etcd_cluster" "this" {
  members                   = local.nodes
  version                   = var.etcd.version
  revision                  = { image = var.etcd.image }
  replace_unreachable_after = var.etcd.after
}

resource "terraform_data" "machine" {
  for_each         = local.nodes
  triggers_replace = [etcd_cluster.this.node[each.key].id, etcd_cluster.this.node[each.key].revision]
  input = {
    dir = "${var.machines}/${each.key}"
    sh  = var.machine_sh
  }

  provisioner "local-exec" {
    command = "sh \"$MACHINE_SH\" new \"$MACHINE_DIR\""
    environment = {
      MACHINE_SH  = self.input.sh
      MACHINE_DIR = self.input.dir
      MACHINE_ENV = join("\n", [
        for k, v in merge(
          { ETCD_LOG_OUTPUTS = "stderr,${var.machines}/${each.key}.json" },
          var.environment,
          etcd_cluster.this.node[each.key].environment,
        ) : "${k}=${v}"
      ])
      MACHINE_JOIN = etcd_cluster.this.node[each.key].join_script_base64gzip
      ETCD_BIN = try(
        var.binaries[etcd_cluster.this.node[each.key].revision.image],
        var.binaries[etcd_cluster.this.node[each.key].version],
      )
    }
  }

  provisioner "local-exec" {
    when    = destroy
    command = "sh \"$MACHINE_SH\" down \"$MACHINE_DIR\""
    environment = {
      MACHINE_SH  = self.input.sh
      MACHINE_DIR = self.input.dir
    }
  }
}

resource "etcd_member" "node" {
  for_each   = local.nodes
  config     = etcd_cluster.this.node[each.key]
  machine_id = terraform_data.machine[each.key].id
  timeouts = {
    create = "90s"
  }
}
