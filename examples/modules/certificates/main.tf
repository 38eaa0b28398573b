# An authority, a certificate for each machine, one for root, the user of Terraform and
# etcdctl, and those of other clients. Their keys are in the Terraform state and, those of the machines, in the
# machines' user data.

terraform {
  required_version = ">= 1.11.0"
  required_providers {
    tls = { source = "hashicorp/tls", version = "~> 4.2, != 4.2.0" } # 4.2.0 replaces certificates
  }
}

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
  subject { common_name = var.name }
}

resource "tls_private_key" "node" {
  for_each    = var.nodes
  algorithm   = "ECDSA"
  ecdsa_curve = "P256"
}

resource "tls_cert_request" "node" {
  for_each        = var.nodes
  private_key_pem = tls_private_key.node[each.key].private_key_pem
  ip_addresses    = distinct(concat(each.value, ["127.0.0.1"]))
  subject { common_name = each.key }
}

resource "tls_locally_signed_cert" "node" {
  for_each              = var.nodes
  cert_request_pem      = tls_cert_request.node[each.key].cert_request_pem
  ca_private_key_pem    = tls_private_key.ca.private_key_pem
  ca_cert_pem           = tls_self_signed_cert.ca.cert_pem
  validity_period_hours = local.valid_for
  allowed_uses          = ["digital_signature", "server_auth", "client_auth"] # a member is its peers' client too
}

locals {
  clients = setunion(["root"], var.clients, var.gateway_clients)
}

resource "tls_private_key" "client" {
  for_each    = local.clients
  algorithm   = "ECDSA"
  ecdsa_curve = "P256"
}

resource "tls_cert_request" "client" {
  for_each        = local.clients
  private_key_pem = tls_private_key.client[each.key].private_key_pem

  # With authentication on, the common name is the user of etcd, and the HTTP gateway
  # refuses a certificate that has one.
  subject {
    common_name  = contains(var.gateway_clients, each.key) ? null : each.key
    organization = contains(var.gateway_clients, each.key) ? each.key : null
  }
}

resource "tls_locally_signed_cert" "client" {
  for_each              = local.clients
  cert_request_pem      = tls_cert_request.client[each.key].cert_request_pem
  ca_private_key_pem    = tls_private_key.ca.private_key_pem
  ca_cert_pem           = tls_self_signed_cert.ca.cert_pem
  validity_period_hours = local.valid_for
  allowed_uses          = ["digital_signature", "client_auth"]
}

# The certificate of root as files, with the variables that etcdctl reads.
resource "terraform_data" "files" {
  count            = var.pki == null ? 0 : 1
  triggers_replace = [tls_self_signed_cert.ca.cert_pem, tls_locally_signed_cert.client["root"].cert_pem, var.endpoints]
  input            = var.pki # a provisioner that runs at destroy sees nothing but this

  provisioner "local-exec" {
    command = <<-EOT
      umask 077 && mkdir -p "$PKI" && cd "$PKI" &&
      printf %s "$CA" >ca.pem && printf %s "$CERT" >root.pem && printf %s "$KEY" >root-key.pem &&
      printf 'export %s\n' "ETCDCTL_ENDPOINTS=$ENDPOINTS" "ETCDCTL_CACERT=$PKI/ca.pem" "ETCDCTL_CERT=$PKI/root.pem" "ETCDCTL_KEY=$PKI/root-key.pem" >etcdctl.env
    EOT
    environment = {
      PKI       = self.input
      ENDPOINTS = join(",", var.endpoints)
      CA        = tls_self_signed_cert.ca.cert_pem
      CERT      = tls_locally_signed_cert.client["root"].cert_pem
      KEY       = tls_private_key.client["root"].private_key_pem
    }
  }

  provisioner "local-exec" {
    when        = destroy
    command     = "rm -f \"$PKI/ca.pem\" \"$PKI/root.pem\" \"$PKI/root-key.pem\" \"$PKI/etcdctl.env\"; rmdir \"$PKI\" || true" # another computer has none
    environment = { PKI = self.input }
  }
}
