# A backup for each day of the week, of a cluster that runs already. See
# README.md.

terraform {
  required_version = ">= 1.11.0"
  required_providers {
    etcd = { source = "terraform-provider-etcd/etcd" }
  }
}

variable "endpoints" {
  description = "Client URLs of the cluster."
  type        = list(string)
  default     = ["http://127.0.0.1:2379"]
}

variable "directory" {
  description = "Where the backups are. It must exist."
  type        = string
  default     = "."
}

provider "etcd" {
  endpoints = var.endpoints
}

locals {
  day     = formatdate("YYYY-MM-DD", plantimestamp())
  weekday = lower(formatdate("EEE", plantimestamp()))
}

resource "etcd_snapshot" "backup" {
  path     = "${var.directory}/etcd-${local.weekday}.db"
  triggers = { day = local.day }

  # The file of the same day of the week before.
  overwrite = true
}

data "etcd_cluster" "this" {}

check "backup" {
  assert {
    condition     = data.etcd_cluster.this.cluster_id == etcd_snapshot.backup.cluster_id
    error_message = "The latest backup is of another cluster."
  }
}

output "backup" {
  description = "What to note down beside the copy: a restore compares it with the file."
  value = {
    path     = etcd_snapshot.backup.path
    sha256   = etcd_snapshot.backup.sha256
    revision = etcd_snapshot.backup.revision
    version  = etcd_snapshot.backup.version
    member   = etcd_snapshot.backup.member_name
  }
}
