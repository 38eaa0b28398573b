# A module block for each node. The cluster is one resource of the root module. See
# README.md.

terraform {
  required_version = ">= 1.11.0"
  required_providers {
    etcd = { source = "terraform-provider-etcd/etcd" }
  }
}

provider "etcd" {}

resource "etcd_cluster" "this" {
  members = { for name, port in var.nodes : name => {
    peer_urls   = ["http://127.0.0.1:${port + 1}"]
    client_urls = ["http://127.0.0.1:${port}"]
  } }
  revision = { image = var.image }
}

module "a" {
  source = "./node"
  node   = etcd_cluster.this.node["a"]
  etcd   = var.etcd
}

module "b" {
  source = "./node"
  node   = etcd_cluster.this.node["b"]
  etcd   = var.etcd
}

module "c" {
  source = "./node"
  node   = etcd_cluster.this.node["c"]
  etcd   = var.etcd
}
