# A backup for each day of the week, of a cluster that runs already. See
# README.md.

terraform {
  required_version = ">= 1.11.0"
  required_providers {
    etcd = { source = "terraform-provider-etcd/etcd" }
  }
}

provider "etcd" {
  endpoints   = var.endpoints
  address_map = var.address_map
  ca_cert     = var.ca_cert
  cert        = var.cert
  key         = var.key
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
