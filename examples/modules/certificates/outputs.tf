output "ca_cert" {
  description = "Certificate of the authority."
  value       = tls_self_signed_cert.ca.cert_pem
}

output "ca_key" {
  description = "Private key of the authority."
  value       = tls_private_key.ca.private_key_pem
  sensitive   = true
}

output "tls" {
  description = "By the name of the node, for tls of cloud_config and ignition: ca, cert and key."
  sensitive   = true
  value = { for name, _ in var.nodes : name => {
    ca   = tls_self_signed_cert.ca.cert_pem
    cert = tls_locally_signed_cert.node[name].cert_pem
    key  = tls_private_key.node[name].private_key_pem
  } }
}

output "cert" {
  description = "Certificate of root."
  value       = tls_locally_signed_cert.client["root"].cert_pem
}

output "key" {
  description = "Private key of root."
  value       = tls_private_key.client["root"].private_key_pem
  sensitive   = true
}

output "clients" {
  description = "Certificate and private key of each client by its name: cert and key."
  sensitive   = true
  value = { for name in local.clients : name => {
    cert = tls_locally_signed_cert.client[name].cert_pem
    key  = tls_private_key.client[name].private_key_pem
  } }
}
