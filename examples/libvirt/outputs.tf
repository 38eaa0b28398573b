output "endpoints" {
  description = "For ETCDCTL_ENDPOINTS."
  value       = join(",", [for address in values(local.nodes) : "https://${address}:2379"])
}

output "ca_cert" {
  description = "For the file in ETCDCTL_CACERT."
  value       = tls_self_signed_cert.ca.cert_pem
}

output "cert" {
  description = "For the file in ETCDCTL_CERT."
  value       = tls_locally_signed_cert.root.cert_pem
}

output "key" {
  description = "For the file in ETCDCTL_KEY."
  value       = tls_private_key.root.private_key_pem
  sensitive   = true
}
