# The registry is another etcd.

variable "registry" {
  type = string
}

provider "etcd" {
  alias     = "registry"
  endpoints = [var.registry]
}

resource "etcd_discovery_token" "this" {
  provider = etcd.registry
  founders = var.founders
}

locals {
  bootstrap = etcd_discovery_token.this.bootstrap
}
