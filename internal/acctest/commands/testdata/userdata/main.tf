# A machine for each function that writes user data. Nothing runs.

terraform {
  required_providers {
    etcd = { source = "terraform-provider-etcd/etcd" }
  }
}

provider "etcd" {}

variable "wrong" {
  type    = map(string)
  default = {}
}

locals {
  options = merge({ etcd = { path = "/usr/bin" }, environment = { ETCD_LOG_LEVEL = "debug" } }, var.wrong)
}

resource "etcd_initial_cluster" "this" {
  members = { a = ["http://127.0.0.1:1"], b = ["http://127.0.0.1:2"], c = ["http://127.0.0.1:3"] }
}

resource "etcd_member_config" "a" {
  name      = "a"
  peer_urls = ["http://127.0.0.1:1"]
  bootstrap = etcd_initial_cluster.this.bootstrap
}

resource "terraform_data" "cloud_init" {
  input = provider::etcd::cloud_config(etcd_member_config.a, local.options)
}

resource "terraform_data" "ignition" {
  input = provider::etcd::ignition(etcd_member_config.a, local.options)
}
