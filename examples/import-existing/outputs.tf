output "versions" {
  description = "Version that each member runs."
  value       = { for name, member in etcd_member.node : name => member.version }
}

output "pending" {
  description = "Nodes that are not rebuilt yet. Apply until it is empty."
  value       = etcd_cluster.this.pending
}
