output "path" {
  description = "File of the latest backup."
  value       = etcd_snapshot.backup.path
}

output "backup" {
  description = "What to store with the copy: a restore compares it with the file."
  value = {
    sha256   = etcd_snapshot.backup.sha256
    revision = etcd_snapshot.backup.revision
    version  = etcd_snapshot.backup.version
    member   = etcd_snapshot.backup.member_name
  }
}
