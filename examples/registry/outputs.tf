output "endpoints" {
  description = "For ETCDCTL_ENDPOINTS."
  value       = join(",", etcd_cluster.this.endpoints)
}
