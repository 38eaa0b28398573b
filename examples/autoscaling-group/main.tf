# One autoscaling group of size 1 for each member: the cloud keeps the machine
# alive, and the member's identity stays one. A single group of three would give
# three machines the same user data, and so the same identity.

terraform {
  required_version = ">= 1.11.0"
  required_providers {
    etcd = { source = "terraform-provider-etcd/etcd" }
  }
}

locals {
  directory  = abspath(var.directory)
  machine_sh = abspath(var.machine_sh)

  # With a cloud: the address of a network interface that the group attaches, or
  # a DNS name that follows the machine. It must outlive the machine.
  client_url = { for name, node in var.nodes : name => "http://127.0.0.1:${node.client_port}" }
  peer_url   = { for name, node in var.nodes : name => "http://127.0.0.1:${node.peer_port}" }
}

provider "etcd" {
  endpoints = concat(var.endpoints, values(local.client_url))
}

resource "etcd_member_config" "node" {
  for_each    = var.nodes
  name        = each.key
  peer_urls   = [local.peer_url[each.key]]
  client_urls = [local.client_url[each.key]]
}

# Stands for the launch template: what a machine of the group boots with,
# whenever the group creates one.
resource "terraform_data" "template" {
  for_each = var.nodes
  input = {
    environment            = join("\n", [for key, value in etcd_member_config.node[each.key].environment : "${key}=${value}"])
    join_script_base64gzip = etcd_member_config.node[each.key].join_script_base64gzip
  }
}

# Stands for the group: minimum, maximum and desired size are 1.
resource "terraform_data" "group" {
  for_each = var.nodes
  input    = { script = local.machine_sh, directory = "${local.directory}/${each.key}" }

  # A group changes its template in place, and creates a new machine only when the
  # old one is gone. A new identity must not wait for that.
  lifecycle {
    replace_triggered_by = [etcd_member_config.node[each.key].id]
  }

  provisioner "local-exec" {
    command = "sh \"${self.input.script}\" new \"${self.input.directory}\""
    environment = {
      no_proxy     = "*"
      ETCD_BIN     = var.etcd
      MACHINE_ENV  = terraform_data.template[each.key].output.environment
      MACHINE_JOIN = terraform_data.template[each.key].output.join_script_base64gzip
    }
  }

  provisioner "local-exec" { # the machine is destroyed with its group
    when    = destroy
    command = "sh \"${self.input.script}\" down \"${self.input.directory}\""
  }
}

# Terraform destroys the group and not the machine, so the member is removed before
# its group.
resource "etcd_member" "node" {
  for_each   = var.nodes
  config     = etcd_member_config.node[each.key]
  machine_id = terraform_data.group[each.key].id
  timeouts   = { create = "2m", delete = "2m" }
}
