# A cluster on Amazon EC2: certificates, cluster, machines and members. network.tf has
# what the machines need first.

terraform {
  required_version = ">= 1.11.0"
  required_providers {
    aws  = { source = "hashicorp/aws", version = "~> 6.47" }
    etcd = { source = "terraform-provider-etcd/etcd" }
  }
}

locals {
  public    = { for name, _ in var.nodes : name => "https://${aws_eip.node[name].public_ip}:2379" }
  endpoints = values(local.public)
  image     = var.image == null ? data.aws_ami.debian[0].id : var.image
}

module "certificates" {
  source          = "../certificates"
  name            = var.name
  nodes           = { for name, address in var.nodes : name => [address, aws_eip.node[name].public_ip] }
  clients         = var.clients
  gateway_clients = var.gateway_clients
  pki             = var.pki
  endpoints       = local.endpoints
}

# Without image, each plan finds the newest one.
data "aws_ami" "debian" {
  count       = var.image == null ? 1 : 0
  most_recent = true
  owners      = ["136693071363"] # Debian

  filter {
    name   = "name"
    values = ["debian-12-${var.architecture}-*"]
  }
}

# What changes machines goes through version and revision: one machine in each
# apply. That includes the instance type, which EC2 would change by stopping all of
# them.
resource "etcd_cluster" "this" {
  members                   = { for name, address in var.nodes : name => { address = address } }
  version                   = var.etcd_version
  revision                  = { image = local.image, instance_type = var.size, environment = jsonencode(var.environment) }
  rebuild                   = var.rebuild
  replace_unreachable_after = "10m"
  restore                   = var.restore
}

resource "aws_instance" "node" {
  for_each      = var.nodes
  ami           = etcd_cluster.this.node[each.key].revision.image
  instance_type = etcd_cluster.this.node[each.key].revision.instance_type
  key_name      = aws_key_pair.this.key_name

  # EC2 takes 16 KiB, and this has less than 12. Other user data is another
  # machine, never a restart of this one.
  user_data_replace_on_change = true
  user_data = provider::etcd::cloud_config(etcd_cluster.this.node[each.key], {
    tls         = module.certificates.tls[each.key]
    environment = jsondecode(etcd_cluster.this.node[each.key].revision.environment)
  })

  # It outlives the machine, and both addresses with it.
  primary_network_interface {
    network_interface_id = aws_network_interface.node[each.key].id
  }

  # The data is on this disk: a new machine is a new member with an empty one.
  root_block_device {
    volume_type = "gp3"
    volume_size = var.disk_size
    encrypted   = true
  }

  metadata_options {
    http_tokens = "required" # IMDSv2
  }

  tags = { Name = "${var.name}-${each.key}" }

  lifecycle {
    replace_triggered_by = [etcd_cluster.this.node[each.key].id] # a rebuilt node, a new machine
  }

  # A machine downloads etcd when it boots, and is reached while it is removed.
  depends_on = [aws_default_route_table.this, aws_eip.node]
}

resource "etcd_member" "node" {
  for_each   = var.nodes
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
