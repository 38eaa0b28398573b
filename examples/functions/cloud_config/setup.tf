# What the example next to it stands on.
terraform {
  required_providers {
    etcd = { source = "terraform-provider-etcd/etcd" }
  }
}

provider "etcd" {}

locals {
  nodes = { a = "10.0.1.10", b = "10.0.1.11", c = "10.0.1.12" }

  # By version: an archive for the machines' platform, and its checksum in the
  # SHA256SUMS file of the release.
  releases = {
    "3.6" = { url = "https://releases.example.com/etcd-linux-amd64.tar.gz", sha256 = "0000000000000000000000000000000000000000000000000000000000000000" }
  }
}

resource "etcd_initial_cluster" "this" {
  members = { for name, address in local.nodes : name => ["https://${address}:2380"] }
}
