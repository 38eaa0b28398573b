# What the example next to it stands on.
terraform {
  required_providers {
    etcd = { source = "terraform-provider-etcd/etcd" }
  }
}

provider "etcd" {
  endpoints = ["https://10.0.1.10:2379", "https://10.0.1.11:2379", "https://10.0.1.12:2379"]
}
