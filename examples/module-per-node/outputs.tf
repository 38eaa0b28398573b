output "members" {
  description = "ID and role of each member."
  value       = { a = module.a.member, b = module.b.member, c = module.c.member }
}

output "pending" {
  description = "Nodes whose image is not in force yet. Apply until it is empty."
  value       = etcd_cluster.this.pending
}
