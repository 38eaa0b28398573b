# One member: its configuration, its machine, its vote.

terraform {
  required_providers {
    etcd = { source = "terraform-provider-etcd/etcd" }
  }
}

variable "name" {
  type = string
}

variable "port" {
  description = "The client port on 127.0.0.1; the peer port is the next one."
  type        = number
}

variable "bootstrap" {
  description = "Of the discovery token."
  type        = any
}

variable "image" {
  description = "What the machine is made from: of the rollout."
  type        = string
}

variable "etcd" {
  type = string
}

resource "etcd_member_config" "this" {
  name             = var.name
  peer_urls        = ["http://127.0.0.1:${var.port + 1}"]
  client_urls      = ["http://127.0.0.1:${var.port}"]
  bootstrap        = var.bootstrap
  triggers_replace = var.image
}

module "machine" { # your virtual machine
  source = "../../local-machine"
  name   = var.name
  config = etcd_member_config.this
  etcd   = var.etcd # a real machine takes image = var.image
}

resource "etcd_member" "this" {
  config     = etcd_member_config.this
  machine_id = module.machine.id # the member is removed before its machine
}

output "member" {
  value = { id = etcd_member.this.id, role = etcd_member.this.role }
}
