output "member" {
  description = "ID and role of the member."
  value       = { id = etcd_member.this.id, role = etcd_member.this.role }
}
