output "pending" {
  description = "Nodes whose version or image is not in force yet. Apply until it is empty."
  value       = etcd_cluster.this.pending
}

output "reason" {
  description = "Why the next node waits."
  value       = etcd_cluster.this.reason
}

output "versions" {
  description = "Version that each member runs."
  value       = { for name, member in etcd_member.node : name => member.version }
}
