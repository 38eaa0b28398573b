# Plans the module without an account: mocks stand for libvirt and hashicorp/tls. The
# etcd provider is real, and looks whether a cluster answers at the addresses.

mock_provider "libvirt" {}

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
  nodes          = { a = "127.0.3.10", b = "127.0.3.11", c = "127.0.3.12" }
  etcd_version   = "3.6.16"
  ssh_public_key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA"
}

run "plan" {
  command         = plan
  expect_failures = [check.etcd] # nothing is created, so it is not known

  assert {
    condition     = libvirt_network.this.ips[0].address == "127.0.3.1" && libvirt_domain.node["b"].devices.interfaces[0].mac.address == "52:54:00:00:03:0b"
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
    rebuild         = { a = "1" }
    restore         = { snapshot = "https://203.0.113.20/etcd.db", sha256 = sha256("") }
  }

  assert {
    condition     = libvirt_network.this.name == "events" && libvirt_volume.disk["a"].name == "events-a.qcow2"
    error_message = "Names of two clusters collide."
  }
}

run "mistakes" {
  command         = plan
  expect_failures = [var.name, var.nodes, var.etcd_version, var.ssh_public_key]
  variables {
    name           = "Events"
    nodes          = { a = "127.0.3.1" }
    etcd_version   = "3.6"
    ssh_public_key = "id_ed25519.pub"
  }
}
