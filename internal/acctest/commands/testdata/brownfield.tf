# A cluster that somebody started by hand, and its machines, taken into care.

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
    etcd   = string
  }))
}

# Whether the machines are in the configuration too.
variable "tied" {
  type = bool
}

variable "machines" {
  type = string
}

variable "machine_sh" {
  type = string
}

# What the machines have that are made anew.
variable "environment" {
  type = map(string)
}

variable "founders" {
  type = any
}

resource "etcd_member_config" "node" {
  for_each    = var.nodes
  name        = each.key
  peer_urls   = [each.value.peer]
  client_urls = [each.value.client]
}

resource "terraform_data" "machine" {
  for_each = var.tied ? var.nodes : {}
  input = {
    dir = "${var.machines}/${each.key}"
    sh  = var.machine_sh
  }

  provisioner "local-exec" {
    command = "sh \"$MACHINE_SH\" new \"$MACHINE_DIR\""
    environment = {
      MACHINE_SH   = self.input.sh
      MACHINE_DIR  = self.input.dir
      MACHINE_ENV  = join("\n", [for k, v in merge(var.environment, etcd_member_config.node[each.key].environment) : "${k}=${v}"])
      MACHINE_JOIN = etcd_member_config.node[each.key].join_script_base64gzip
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

  # The machines that are there were not made from these configurations, and
  # are left alone until a configuration is replaced.
  lifecycle {
    replace_triggered_by = [etcd_member_config.node[each.key].id]
  }
}

resource "etcd_member" "node" {
  for_each   = var.nodes
  name       = var.tied ? null : each.key
  peer_urls  = var.tied ? null : [each.value.peer]
  config     = var.tied ? etcd_member_config.node[each.key] : null
  machine_id = var.tied ? terraform_data.machine[each.key].id : null
}
