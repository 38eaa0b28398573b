output "endpoints" {
  description = "URLs of the members for clients on this computer, such as ETCDCTL_ENDPOINTS."
  value       = local.endpoints
}

output "private_endpoints" {
  description = "URLs of the members for clients in their network."
  value       = local.endpoints
}

output "address_map" {
  description = "For address_map of the provider: where this computer reaches the URLs of the members."
  value       = {}
}

output "ca_cert" {
  description = "For ca_cert of the provider, and for clients."
  value       = module.certificates.ca_cert
}

output "cert" {
  description = "Certificate of root: for cert of the provider, and for clients."
  value       = module.certificates.cert
}

output "key" {
  description = "Private key of cert."
  value       = module.certificates.key
  sensitive   = true
}

output "ca_key" {
  description = "Private key of the authority. Save it before the state is given up: no certificate can be issued without it."
  value       = module.certificates.ca_key
  sensitive   = true
}

output "clients" {
  description = "Certificate and private key of each of the clients by its name: cert and key."
  value       = module.certificates.clients
  sensitive   = true
}

output "addresses" {
  description = "Address at which this computer reaches each machine, by the name of the node."
  value       = { for name, _ in var.nodes : name => "127.0.0.1" }
}

output "machine_ids" {
  description = "ID of each machine, by the name of the node."
  value       = { for name, machine in module.machine : name => machine.id }
}

output "status" {
  description = "Status of each node by name, such as voter, unreachable or failed."
  value       = etcd_cluster.this.status
}

output "pending" {
  description = "Nodes that wait for a new version, size or image. Apply until it is empty."
  value       = etcd_cluster.this.pending
}

output "reason" {
  description = "Why they wait."
  value       = etcd_cluster.this.reason
}

output "cluster_id" {
  description = "ID of the cluster in hexadecimal, such as for replaces_cluster of restore."
  value       = etcd_cluster.this.cluster_id
}
