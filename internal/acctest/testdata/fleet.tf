# The configuration of the documentation's front page, with machines that are
# directories on this computer.

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
    # The name, where it is not the key.
    name = optional(string)
    # More URLs, and what clients are listened for at if not at the advertised.
    peers   = optional(list(string), [])
    clients = optional(list(string), [])
    listen  = optional(list(string))
    # The same for peers.
    listen_peer = optional(list(string))
    script      = optional(bool, true)
    # A change of image replaces the machine alone, one of config everything.
    image  = optional(string, "1")
    config = optional(string, "1")
    # The etcd that the machine runs.
    etcd   = string
    create = optional(string, "90s")
    delete = optional(string, "60s")
    # "member", "learner", or anything else for neither.
    joins   = optional(string, "member")
    promote = optional(bool, false)
  }))
}

variable "founders" {
  type = set(string)
}

# Where the machines are, what runs them, and what all of them have.
variable "machines" {
  type = string
}

variable "machine_sh" {
  type = string
}

variable "environment" {
  type = map(string)
}

resource "etcd_member_config" "node" {
  for_each         = var.nodes
  name             = coalesce(each.value.name, each.key)
  peer_urls        = concat([each.value.peer], each.value.peers)
  client_urls      = concat([each.value.client], each.value.clients)
  bootstrap        = local.bootstrap
  triggers_replace = each.value.config

  listen_client_urls = each.value.listen
  listen_peer_urls   = each.value.listen_peer
}

resource "terraform_data" "machine" {
  for_each = var.nodes
  triggers_replace = [
    etcd_member_config.node[each.key].id,
    each.value.image,
  ]
  input = {
    dir = "${var.machines}/${coalesce(each.value.name, each.key)}"
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
          etcd_member_config.node[each.key].environment,
        ) : "${k}=${v}"
      ])
      MACHINE_JOIN = each.value.script ? etcd_member_config.node[each.key].join_script_base64gzip : ""
      ETCD_BIN     = each.value.etcd
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
  config     = etcd_member_config.node[each.key]
  machine_id = terraform_data.machine[each.key].id
  timeouts = {
    create = each.value.create
    delete = each.value.delete
  }
}

resource "etcd_learner" "node" {
  for_each   = { for name, node in var.nodes : name => node if node.joins == "learner" }
  config     = etcd_member_config.node[each.key]
  machine_id = terraform_data.machine[each.key].id
  promote    = each.value.promote
  timeouts = {
    create = each.value.create
    update = each.value.create
    delete = each.value.delete
  }
}
