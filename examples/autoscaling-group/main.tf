# One autoscaling group of size 1 for each member: the cloud replaces a machine that
# fails. A single group of three would give three machines the same user data, and
# so the same identity.

terraform {
  required_version = ">= 1.11.0"
  required_providers {
    etcd = { source = "terraform-provider-etcd/etcd" }
  }
}

locals {
  directory  = abspath(var.directory)
  machine_sh = abspath(var.machine_sh)
}

provider "etcd" {}

resource "etcd_cluster" "this" {
  # With a cloud: the address of a network interface that the group attaches, or
  # a DNS name that follows the machine. It must outlive the machine.
  members = { for name, node in var.nodes : name => {
    peer_urls   = ["http://127.0.0.1:${node.peer_port}"]
    client_urls = ["http://127.0.0.1:${node.client_port}"]
  } }
}

# Stands for the launch template: what a machine of the group boots with,
# whenever the group creates one.
resource "terraform_data" "template" {
  for_each = var.nodes
  input = {
    environment            = join("\n", [for key, value in etcd_cluster.this.node[each.key].environment : "${key}=${value}"])
    join_script_base64gzip = etcd_cluster.this.node[each.key].join_script_base64gzip
  }
}

# Stands for the group: minimum, maximum and desired size are 1.
resource "terraform_data" "group" {
  for_each = var.nodes
  input    = { script = local.machine_sh, directory = "${local.directory}/${each.key}" }

  # A group changes its template in place, and creates a new machine only when the
  # old one is gone. A rebuilt node must not wait for that.
  lifecycle {
    replace_triggered_by = [etcd_cluster.this.node[each.key].id]
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
  config     = etcd_cluster.this.node[each.key]
  machine_id = terraform_data.group[each.key].id
  timeouts   = { create = "2m", delete = "2m" }
}
