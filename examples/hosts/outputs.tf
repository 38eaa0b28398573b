output "endpoints" {
  description = "For ETCDCTL_ENDPOINTS."
  value       = join(",", etcd_cluster.this.endpoints)
}

output "pending" {
  description = "The members that do not have the new version or environment yet. Apply until it is empty."
  value       = etcd_cluster.this.pending
}

output "reason" {
  description = "Why they wait."
  value       = etcd_cluster.this.reason
}

output "cluster_id" {
  description = "For replaces_cluster of restore."
  value       = etcd_cluster.this.cluster_id
}

output "ca_cert" {
  description = "For the file in ETCDCTL_CACERT."
  value       = local.ca
}

output "cert" {
  description = "For the file in ETCDCTL_CERT."
  value       = local.certificates["root"]
}

output "key" {
  description = "For the file in ETCDCTL_KEY."
  value       = local.keys["root"]
  sensitive   = true
}
