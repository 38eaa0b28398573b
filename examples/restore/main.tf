# A backup becomes a cluster: one that is gone, or one that has lost its quorum.
# See README.md.

terraform {
  required_version = ">= 1.11.0"
  required_providers {
    etcd = { source = "terraform-provider-etcd/etcd" }
  }
}

variable "snapshot" {
  description = "Where the machines fetch the snapshot: a URL, or an absolute path on each of them. null starts an empty cluster."
  type        = string
  default     = "https://backups.example.com/etcd/2026-11-22.db"
}

variable "sha256" {
  description = "What sha256sum prints for it."
  type        = string
  default     = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
}

variable "revision" {
  description = "Revision of the snapshot: what etcdutl snapshot status prints."
  type        = number
  default     = 4711
}

variable "replaces_cluster" {
  description = "ID of the cluster that has lost its quorum. The plan then replaces its members and their machines."
  type        = string
  default     = null
}

variable "gone" {
  description = "Members of that cluster that never start again."
  type        = list(string)
  default     = null
}

variable "save_survivor" {
  description = "Whether to save the data of the member that has the most, after the quorum was lost."
  type        = bool
  default     = false
}

locals {
  nodes = { a = "10.0.1.10", b = "10.0.1.11", c = "10.0.1.12" }
}

provider "etcd" {
  endpoints = [for ip in values(local.nodes) : "http://${ip}:2379"]
}

resource "etcd_initial_cluster" "this" {
  members = { for name, ip in local.nodes : name => ["http://${ip}:2380"] }

  restore = var.snapshot == null ? null : {
    snapshot         = var.snapshot
    sha256           = var.sha256
    revision         = var.revision
    replaces_cluster = var.replaces_cluster
    gone             = var.gone

    # More than was written after the snapshot: no revision is given out twice, and
    # clients that watch from an old one are told to read everything again.
    revision_bump  = 1000000000
    mark_compacted = true
  }
}

resource "etcd_member_config" "node" {
  for_each  = local.nodes
  name      = each.key
  address   = each.value
  scheme    = "http"
  bootstrap = etcd_initial_cluster.this.bootstrap
}

# In place of your virtual machines. etcdutl must be installed beside etcd, as it
# is by a release of etcd.
resource "terraform_data" "machine" {
  for_each = local.nodes
  input = provider::etcd::cloud_config(etcd_member_config.node[each.key], {
    etcd = {
      url    = "https://github.com/etcd-io/etcd/releases/download/v3.6.16/etcd-v3.6.16-linux-amd64.tar.gz"
      sha256 = "abababababababababababababababababababababababababababababababab"
    }
  })
  triggers_replace = etcd_member_config.node[each.key].id
}

resource "etcd_member" "node" {
  for_each   = local.nodes
  config     = etcd_member_config.node[each.key]
  machine_id = terraform_data.machine[each.key].id
}

data "etcd_cluster" "lost" {
  count = var.save_survivor ? 1 : 0
}

resource "etcd_snapshot" "survivor" {
  count  = var.save_survivor ? 1 : 0
  path   = "${path.root}/survivor.db"
  member = data.etcd_cluster.lost[0].survivor.name
}
