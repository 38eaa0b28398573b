# Three members on EC2, each with an address of its own.
# Formatted and checked for syntax; the provider for AWS is not run in tests.

terraform {
  required_version = ">= 1.11.0"
  required_providers {
    aws  = { source = "hashicorp/aws", version = ">= 5.0" }
    etcd = { source = "terraform-provider-etcd/etcd" }
  }
}

variable "ami" {
  description = "A Debian or Ubuntu image. A change goes through the members one at a time, one in each apply."
  type        = string
}

variable "subnets" {
  description = "A subnet for each member, in zones of their own, with an address in it."
  type        = map(object({ subnet_id = string, address = string }))
}

variable "security_group_id" {
  description = "Lets 2379 in from clients and from here, and 2380 from the group itself."
  type        = string
}

variable "instance_profile" {
  description = "Lets the machine fetch its certificates."
  type        = string
}

variable "registry" {
  description = "Client URLs of the etcd in which the founders meet."
  type        = list(string)
}

variable "archive" {
  description = "A release of etcd and its SHA-256."
  type        = object({ url = string, sha256 = string })
}

provider "aws" {}

locals {
  # What etcd trusts and shows: files that the machines have.
  tls = {
    ca   = "/etc/etcd/pki/ca.pem"
    cert = "/etc/etcd/pki/server.pem"
    key  = "/etc/etcd/pki/server-key.pem"
  }
}

provider "etcd" {
  endpoints = [for node in values(var.subnets) : "https://${node.address}:2379"]
  ca_cert   = "pki/ca.pem"
  cert      = "pki/root.pem"
  key       = "pki/root-key.pem"
}

provider "etcd" {
  alias     = "registry"
  endpoints = var.registry
  ca_cert   = "pki/ca.pem"
  cert      = "pki/root.pem"
  key       = "pki/root-key.pem"
}

resource "etcd_discovery_token" "this" {
  provider = etcd.registry
  founders = ["a", "b", "c"]
  machine_access = {
    ca_cert = "/etc/etcd/pki/ca.pem"
    cert    = "/etc/etcd/pki/server.pem"
    key     = "/etc/etcd/pki/server-key.pem"
  }
}

resource "etcd_rollout" "this" {
  desired = { for name, _ in var.subnets : name => var.ami }
}

resource "etcd_member_config" "node" {
  for_each                  = var.subnets
  name                      = each.key
  address                   = each.value.address
  bootstrap                 = etcd_discovery_token.this.bootstrap
  triggers_replace          = etcd_rollout.this.effective[each.key]
  replace_unreachable_after = "10m"
}

resource "aws_instance" "node" {
  for_each                    = var.subnets
  ami                         = etcd_rollout.this.effective[each.key]
  instance_type               = "m7g.large"
  subnet_id                   = each.value.subnet_id
  private_ip                  = each.value.address
  vpc_security_group_ids      = [var.security_group_id]
  iam_instance_profile        = var.instance_profile
  user_data_replace_on_change = true

  # EC2 takes 16 KiB of it.
  user_data = provider::etcd::cloud_config(etcd_member_config.node[each.key], {
    etcd = var.archive
    tls  = local.tls
  })

  root_block_device {
    volume_type = "gp3"
    encrypted   = true
  }

  metadata_options {
    http_tokens = "required"
  }

  tags = { Name = "etcd-${each.key}" }

  lifecycle {
    ignore_changes       = [user_data]                            # another release of etcd goes in with the next image
    replace_triggered_by = [etcd_member_config.node[each.key].id] # a new configuration, a new machine
  }
}

resource "etcd_member" "node" {
  for_each   = var.subnets
  config     = etcd_member_config.node[each.key]
  machine_id = aws_instance.node[each.key].id
}
