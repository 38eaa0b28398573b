# What a user writes, with machines that are directories on this computer.

terraform {
  required_providers {
    etcd = {
      source = "terraform-provider-etcd/etcd"
    }
  }
}

variable "nodes" {
  type = map(object({
    client = string
    peer   = string
    # More URLs, and where the process listens for clients if not at the advertised ones.
    peers   = optional(list(string), [])
    clients = optional(list(string), [])
    listen  = optional(string)
    # The etcd of the machine, if its version does not decide.
    etcd = string
    # "member" or "learner".
    joins   = optional(string, "member")
  }))
}

variable "cluster" {
  type = object({
    version  = optional(string)
    revision = optional(map(string))
    rebuild  = optional(map(string))
  })
}

# Where the machines are, what runs them, what all of them have, and the etcd of a
# version.
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
  nodes = { for name, node in var.nodes : name => {
    peer_urls   = concat([node.peer], node.peers)
    client_urls = concat([node.client], node.clients)
    learner     = node.joins == "learner"
  } }
}

resource "etcd_cluster" "this" {
  members   = local.nodes
  discovery = local.discovery
  version   = var.cluster.version
  revision  = var.cluster.revision
  rebuild   = var.cluster.rebuild
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
          var.nodes[each.key].listen == null ? {} : { ETCD_LISTEN_CLIENT_URLS = var.nodes[each.key].listen },
        ) : "${k}=${v}"
      ])
      MACHINE_JOIN = etcd_cluster.this.node[each.key].join_script_base64gzip
      ETCD_BIN = try(
        var.binaries[etcd_cluster.this.node[each.key].version],
        var.nodes[each.key].etcd,
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
  for_each   = { for name, node in var.nodes : name => node if node.joins == "member" }
  config     = etcd_cluster.this.node[each.key]
  machine_id = terraform_data.machine[each.key].id
  timeouts = {
    create = "90s"
  }
}

resource "etcd_learner" "node" {
  for_each   = { for name, node in var.nodes : name => node if node.joins == "learner" }
  config     = etcd_cluster.this.node[each.key]
  machine_id = terraform_data.machine[each.key].id
  timeouts = {
    create = "90s"
  }
}
