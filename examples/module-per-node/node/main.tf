# One node: its machine and its member.

terraform {
  required_providers {
    etcd = { source = "terraform-provider-etcd/etcd" }
  }
}

module "machine" { # your virtual machine
  source = "../../local-machine"
  name   = var.node.name
  config = var.node
  etcd   = var.etcd # a real machine takes image = var.node.revision.image
}

resource "etcd_member" "this" {
  config     = var.node
  machine_id = module.machine.id # the member is removed before its machine
}
