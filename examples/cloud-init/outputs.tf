output "endpoints" {
  description = "For ETCDCTL_ENDPOINTS."
  value       = join(",", etcd_cluster.this.endpoints)
}

output "pending" {
  description = "Nodes whose release is not in force yet. Apply until it is empty."
  value       = etcd_cluster.this.pending
}
