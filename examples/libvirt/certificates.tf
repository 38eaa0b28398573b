# An authority, a certificate for each machine, and one for Terraform and etcdctl.
# Their keys are in the Terraform state and, those of the machines, in the
# machines' user data.

locals {
  valid_for = 10 * 365 * 24 # hours
}

resource "tls_private_key" "ca" {
  algorithm   = "ECDSA"
  ecdsa_curve = "P256"
}

resource "tls_self_signed_cert" "ca" {
  private_key_pem       = tls_private_key.ca.private_key_pem
  is_ca_certificate     = true
  validity_period_hours = local.valid_for
  allowed_uses          = ["cert_signing", "crl_signing"]
  subject { common_name = "etcd" }
}

resource "tls_private_key" "node" {
  for_each    = local.nodes
  algorithm   = "ECDSA"
  ecdsa_curve = "P256"
}

resource "tls_cert_request" "node" {
  for_each        = local.nodes
  private_key_pem = tls_private_key.node[each.key].private_key_pem
  ip_addresses    = [each.value, "127.0.0.1"]
  subject { common_name = each.key }
}

resource "tls_locally_signed_cert" "node" {
  for_each              = local.nodes
  cert_request_pem      = tls_cert_request.node[each.key].cert_request_pem
  ca_private_key_pem    = tls_private_key.ca.private_key_pem
  ca_cert_pem           = tls_self_signed_cert.ca.cert_pem
  validity_period_hours = local.valid_for
  allowed_uses          = ["digital_signature", "server_auth", "client_auth"] # a member is its peers' client too
}

resource "tls_private_key" "root" {
  algorithm   = "ECDSA"
  ecdsa_curve = "P256"
}

resource "tls_cert_request" "root" {
  private_key_pem = tls_private_key.root.private_key_pem
  subject { common_name = "root" }
}

resource "tls_locally_signed_cert" "root" {
  cert_request_pem      = tls_cert_request.root.cert_request_pem
  ca_private_key_pem    = tls_private_key.ca.private_key_pem
  ca_cert_pem           = tls_self_signed_cert.ca.cert_pem
  validity_period_hours = local.valid_for
  allowed_uses          = ["digital_signature", "client_auth"]
}
