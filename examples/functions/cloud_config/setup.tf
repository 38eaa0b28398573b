# What the example next to it stands on.
terraform {
  required_providers {
    etcd = { source = "terraform-provider-etcd/etcd" }
  }
}

provider "etcd" {}

locals {
  nodes = { a = { address = "10.0.1.10" }, b = { address = "10.0.1.11" }, c = { address = "10.0.1.12" } }
}
