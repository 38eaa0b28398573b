# Plans the module without an account: mocks stand for AWS and hashicorp/tls. The
# etcd provider is real, and looks whether a cluster answers at the addresses.

mock_provider "aws" {
  mock_data "aws_region" {
    defaults = { region = "eu-central-1" }
  }
}

mock_provider "tls" {
  mock_resource "tls_self_signed_cert" {
    defaults = { cert_pem = "/etc/etcd/pki/ca.pem" }
  }
  mock_resource "tls_locally_signed_cert" {
    defaults = { cert_pem = "/etc/etcd/pki/server.pem" }
  }
  mock_resource "tls_private_key" {
    defaults = { private_key_pem = "/etc/etcd/pki/server-key.pem" }
  }
}

variables {
  nodes          = { a = "127.0.1.10", b = "127.0.2.10", d = "127.0.4.10" }
  etcd_version   = "3.6.16"
  admin_networks = ["192.0.0.7/32"]
  ssh_public_key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA"
}

run "plan" {
  command         = plan
  expect_failures = [check.etcd] # nothing is created, so it is not known

  assert {
    condition     = [for name in ["a", "b", "d"] : aws_subnet.node[name].availability_zone] == ["eu-central-1a", "eu-central-1b", "eu-central-1a"]
    error_message = "A node is in another zone than its address says."
  }
  assert {
    condition     = aws_subnet.node["d"].cidr_block == "127.0.4.0/24" && aws_vpc.this.cidr_block == "127.0.0.0/16"
    error_message = "The networks are not those around the addresses."
  }
}

run "another_name_beside_it" {
  command         = plan
  expect_failures = [check.etcd]
  variables {
    name            = "events"
    environment     = { ETCD_QUOTA_BACKEND_BYTES = "8589934592" }
    clients         = ["apiserver"]
    gateway_clients = ["patroni"]
    client_networks = ["10.1.0.0/16"]
    image           = "ami-0123456789abcdef0"
    rebuild         = { a = "1" }
    restore         = { snapshot = "https://203.0.113.20/etcd.db", sha256 = sha256("") }
  }

  assert {
    condition     = aws_key_pair.this.key_name == "events" && aws_security_group.this.name == "events"
    error_message = "Names of two clusters collide."
  }
  assert {
    condition     = etcd_cluster.this.revision.image == "ami-0123456789abcdef0"
    error_message = "The image is another than the input."
  }
  assert {
    condition     = { for rule in aws_security_group.this.ingress : rule.from_port => contains(coalesce(rule.cidr_blocks, []), "10.1.0.0/16") } == { 22 = false, 2379 = true, 2380 = false }
    error_message = "Networks of clients reach another port than 2379."
  }
}

run "mistakes" {
  command         = plan
  expect_failures = [var.name, var.nodes, var.etcd_version, var.admin_networks, var.ssh_public_key]
  variables {
    name           = "Events"
    nodes          = { a = "127.0.1.10", b = "127.0.1.11" }
    etcd_version   = "3.6"
    admin_networks = ["203.0.113.7/32"]
    ssh_public_key = "id_ed25519.pub"
  }
}
