# One snapshot for each day on which Terraform runs.
resource "etcd_snapshot" "daily" {
  path = "${path.root}/etcd.db"
  triggers = {
    day = formatdate("YYYY-MM-DD", plantimestamp())
  }
}

output "backup" {
  value = {
    sha256   = etcd_snapshot.daily.sha256
    revision = etcd_snapshot.daily.revision
  }
}
