output "backup" {
  description = "What to store with the copy: a restore compares it with the file."
  value = {
    path     = etcd_snapshot.backup.path
    sha256   = etcd_snapshot.backup.sha256
    revision = etcd_snapshot.backup.revision
    version  = etcd_snapshot.backup.version
    member   = etcd_snapshot.backup.member_name
  }
}
