# The network of the members, what may reach them, and their addresses, which are
# known before the machines.

data "aws_region" "this" {}

# A node has a subnet of its own, which a change of the others never touches.
locals {
  subnets = { for name, address in var.nodes : name => {
    cidr_block = cidrsubnet("${address}/24", 0, 0)
    zone       = "${data.aws_region.this.region}${var.zones[(split(".", address)[2] + length(var.zones) - 1) % length(var.zones)]}"
  } }
}

resource "aws_vpc" "this" {
  cidr_block = cidrsubnet("${values(var.nodes)[0]}/16", 0, 0)
  tags       = { Name = var.name }
}

resource "aws_internet_gateway" "this" {
  vpc_id = aws_vpc.this.id
}

resource "aws_default_route_table" "this" {
  default_route_table_id = aws_vpc.this.default_route_table_id

  route {
    cidr_block = "0.0.0.0/0"
    gateway_id = aws_internet_gateway.this.id
  }
}

resource "aws_subnet" "node" {
  for_each          = var.nodes
  vpc_id            = aws_vpc.this.id
  availability_zone = local.subnets[each.key].zone
  cidr_block        = local.subnets[each.key].cidr_block
  tags              = { Name = "${var.name}-${each.key}" }
}

# The rules are part of the group, which the machines depend on. As resources of
# their own they would be gone before a destroy has removed the first member.
resource "aws_security_group" "this" {
  name        = var.name
  description = "Members of etcd"
  vpc_id      = aws_vpc.this.id

  ingress {
    description = "etcd clients, and Terraform"
    protocol    = "tcp"
    from_port   = 2379
    to_port     = 2379
    cidr_blocks = distinct(concat(var.admin_networks, var.client_networks))
  }

  ingress {
    description = "etcd peers"
    protocol    = "tcp"
    from_port   = 2380
    to_port     = 2380
    self        = true
  }

  ingress {
    description = "SSH"
    protocol    = "tcp"
    from_port   = 22
    to_port     = 22
    cidr_blocks = var.admin_networks
  }

  egress {
    description = "Peers, packages of Debian, and the release of etcd"
    protocol    = "-1"
    from_port   = 0
    to_port     = 0
    cidr_blocks = ["0.0.0.0/0"]
  }
}

resource "aws_network_interface" "node" {
  for_each        = var.nodes
  subnet_id       = aws_subnet.node[each.key].id
  private_ips     = [each.value]
  security_groups = [aws_security_group.this.id]
  tags            = { Name = "${var.name}-${each.key}" }
}

resource "aws_eip" "node" {
  for_each          = var.nodes
  domain            = "vpc"
  network_interface = aws_network_interface.node[each.key].id
  tags              = { Name = "${var.name}-${each.key}" }

  depends_on = [aws_internet_gateway.this]
}

resource "aws_key_pair" "this" {
  key_name   = var.name
  public_key = var.ssh_public_key
}
