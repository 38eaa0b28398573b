output "members" {
  description = "ID of each member."
  value       = { for name, member in etcd_member.node : name => member.id }
}
