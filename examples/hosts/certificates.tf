# A certificate authority, and a certificate for each host and for root, the user of
# Terraform and etcdctl. Their keys are in the Terraform state.

locals {
  names = setunion(keys(var.hosts), ["root"])
}

resource "tls_private_key" "ca" {
  algorithm   = "ECDSA"
  ecdsa_curve = "P256"
}

resource "tls_self_signed_cert" "ca" {
  private_key_pem       = tls_private_key.ca.private_key_pem
  is_ca_certificate     = true
  validity_period_hours = 10 * 365 * 24
  allowed_uses          = ["cert_signing", "crl_signing"]
  subject { common_name = "etcd" }
}

resource "tls_private_key" "this" {
  for_each    = local.names
  algorithm   = "ECDSA"
  ecdsa_curve = "P256"
}

resource "tls_cert_request" "this" {
  for_each        = local.names
  private_key_pem = tls_private_key.this[each.key].private_key_pem
  ip_addresses    = compact([try(var.hosts[each.key].address, null), "127.0.0.1"])
  subject { common_name = each.key }
}

resource "tls_locally_signed_cert" "this" {
  for_each              = local.names
  cert_request_pem      = tls_cert_request.this[each.key].cert_request_pem
  ca_private_key_pem    = tls_private_key.ca.private_key_pem
  ca_cert_pem           = tls_self_signed_cert.ca.cert_pem
  validity_period_hours = 10 * 365 * 24
  allowed_uses          = ["digital_signature", "server_auth", "client_auth"] # a member is a client of its peers too
}

locals {
  ca           = tls_self_signed_cert.ca.cert_pem
  certificates = { for name in local.names : name => tls_locally_signed_cert.this[name].cert_pem }
  keys         = { for name in local.names : name => tls_private_key.this[name].private_key_pem }
}

output "ca_key" {
  description = "Private key of the authority. Save it before the state is given up: no certificate can be issued without it."
  value       = tls_private_key.ca.private_key_pem
  sensitive   = true
}
