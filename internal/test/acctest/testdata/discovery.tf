provider "etcd" {
  alias     = "discovery"
  endpoints = [%q]
}

resource "etcd_discovery_token" "this" {
  provider = etcd.discovery
  size     = 3
}

locals {
  discovery = etcd_discovery_token.this.bootstrap
}
