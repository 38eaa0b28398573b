# What the example next to it stands on.
terraform {
  required_providers {
    etcd = { source = "terraform-provider-etcd/etcd" }
  }
}

locals {
  nodes = { a = "10.0.1.10", b = "10.0.1.11", c = "10.0.1.12" }
}

provider "etcd" {
  endpoints = [for ip in values(local.nodes) : "https://${ip}:2379"]
}
