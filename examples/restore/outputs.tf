output "cluster_id" {
  description = "For replaces_cluster, if the cluster is lost."
  value       = etcd_cluster.this.cluster_id
}
