# Plans the module without an account: mocks stand for Hetzner Cloud and hashicorp/tls. The
# etcd provider is real, and looks whether a cluster answers at the addresses.

mock_provider "hcloud" { # these IDs are numbers
  mock_resource "hcloud_network" {
    defaults = { id = "1" }
  }
  mock_resource "hcloud_placement_group" {
    defaults = { id = "1" }
  }
  mock_resource "hcloud_firewall" {
    defaults = { id = "1" }
  }
  mock_resource "hcloud_primary_ip" {
    defaults = { id = "1" }
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
  nodes          = { a = "127.0.1.10", b = "127.0.1.11", c = "127.0.1.12" }
  etcd_version   = "3.6.16"
  admin_networks = ["192.0.0.7/32"]
  ssh_public_key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA"
}

run "plan" {
  command         = plan
  expect_failures = [check.etcd] # nothing is created, so it is not known

  assert {
    condition     = hcloud_network_subnet.this.ip_range == "127.0.1.0/24" && hcloud_server.node["b"].name == "etcd-b"
    error_message = "The network is not that around the addresses."
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
    rebuild         = { a = "1" }
    restore         = { snapshot = "https://203.0.113.20/etcd.db", sha256 = sha256("") }
  }

  assert {
    condition     = alltrue([for thing in [hcloud_network.this, hcloud_placement_group.this, hcloud_firewall.this, hcloud_ssh_key.this] : thing.name == "events"])
    error_message = "Names of two clusters collide."
  }
  assert {
    condition     = { for rule in hcloud_firewall.this.rule : rule.port => contains(rule.source_ips, "10.1.0.0/16") } == { "22" = false, "2379" = true }
    error_message = "Networks of clients reach another port than 2379."
  }
}

run "mistakes" {
  command         = plan
  expect_failures = [var.name, var.nodes, var.etcd_version, var.admin_networks, var.ssh_public_key]
  variables {
    name           = "Events"
    nodes          = { a = "127.0.1.10", b = "127.0.2.10" }
    etcd_version   = "3.6"
    admin_networks = ["192.0.0.7"]
    ssh_public_key = "id_ed25519.pub"
  }
}
