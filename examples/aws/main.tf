# Three members on Amazon EC2, one in each zone, from nothing to a cluster with
# TLS in one apply.

terraform {
  required_version = ">= 1.11.0"
  required_providers {
    aws  = { source = "hashicorp/aws", version = "~> 6.47" }
    etcd = { source = "terraform-provider-etcd/etcd" }
    tls  = { source = "hashicorp/tls", version = "~> 4.2, != 4.2.0" } # 4.2.0 replaces certificates
  }
}

provider "aws" {
  region = var.region
}

# A member has a subnet of its own, which a change of the others never touches.
locals {
  nodes = {
    a = { zone = "${var.region}a", subnet = "10.0.1.0/24", address = "10.0.1.10" }
    b = { zone = "${var.region}b", subnet = "10.0.2.0/24", address = "10.0.2.10" }
    c = { zone = "${var.region}c", subnet = "10.0.3.0/24", address = "10.0.3.10" }
  }
  architecture = "arm64" # of the image and the instance type
}

# The members reach each other at their private addresses, and Terraform reaches
# them at their public ones.
provider "etcd" {
  address_map = { for name, node in local.nodes : "https://${node.address}:2379" => "https://${aws_eip.node[name].public_ip}:2379" }
  ca_cert     = tls_self_signed_cert.ca.cert_pem
  cert        = tls_locally_signed_cert.root.cert_pem
  key         = tls_private_key.root.private_key_pem
}

# Each plan finds the newest image.
data "aws_ami" "debian" {
  most_recent = true
  owners      = ["136693071363"] # Debian

  filter {
    name   = "name"
    values = ["debian-12-${local.architecture}-*"]
  }
}

# What changes machines goes through version and revision: one machine in each
# apply. That includes the instance type, which EC2 would change by stopping all of
# them.
resource "etcd_cluster" "this" {
  members                   = { for name, node in local.nodes : name => { address = node.address } }
  version                   = var.etcd_version
  revision                  = { image = data.aws_ami.debian.id, instance_type = var.instance_type }
  replace_unreachable_after = "10m"
}

resource "aws_instance" "node" {
  for_each      = local.nodes
  ami           = etcd_cluster.this.node[each.key].revision.image
  instance_type = etcd_cluster.this.node[each.key].revision.instance_type
  key_name      = aws_key_pair.this.key_name

  # EC2 takes 16 KiB, and this has less than 12. Other user data is another
  # machine, never a restart of this one.
  user_data_replace_on_change = true
  user_data = provider::etcd::cloud_config(etcd_cluster.this.node[each.key], {
    tls = {
      ca   = tls_self_signed_cert.ca.cert_pem
      cert = tls_locally_signed_cert.node[each.key].cert_pem
      key  = tls_private_key.node[each.key].private_key_pem
    }
  })

  # It outlives the machine, and both addresses with it.
  primary_network_interface {
    network_interface_id = aws_network_interface.node[each.key].id
  }

  # The data is on this disk: a new machine is a new member with an empty one.
  root_block_device {
    volume_type = "gp3"
    volume_size = 20
    encrypted   = true
  }

  metadata_options {
    http_tokens = "required" # IMDSv2
  }

  tags = { Name = "etcd-${each.key}" }

  lifecycle {
    replace_triggered_by = [etcd_cluster.this.node[each.key].id] # a rebuilt node, a new machine
  }

  # A machine downloads etcd when it boots, and is reached while it is removed.
  depends_on = [aws_default_route_table.this, aws_eip.node]
}

resource "etcd_member" "node" {
  for_each   = local.nodes
  config     = etcd_cluster.this.node[each.key]
  machine_id = aws_instance.node[each.key].id
}

data "etcd_cluster" "this" {
  endpoints  = etcd_cluster.this.endpoints
  depends_on = [etcd_member.node]
}

check "etcd" {
  assert {
    condition     = data.etcd_cluster.this.healthy
    error_message = join("\n", data.etcd_cluster.this.advice)
  }
}
