output "member" {
  description = "ID and role of the new member."
  value       = { id = etcd_member.d.id, role = etcd_member.d.role }
}
