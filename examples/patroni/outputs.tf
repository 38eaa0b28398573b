output "endpoints" {
  description = "For ETCDCTL_ENDPOINTS."
  value       = join(",", etcd_cluster.this.endpoints)
}

output "pending" {
  description = "Nodes whose version is not in force yet. Apply until it is empty."
  value       = etcd_cluster.this.pending
}
