# The token is in another etcd, or at a discovery service.

variable "discovery" {
  type = object({
    endpoint    = optional(string)
    ca          = optional(string)
    protocol    = string
    service_url = optional(string)
    size        = number
  })
}

provider "etcd" {
  alias     = "discovery"
  endpoints = var.discovery.endpoint == null ? null : [var.discovery.endpoint]
  ca_cert   = var.discovery.ca
}

resource "etcd_discovery_token" "this" {
  provider    = etcd.discovery
  size        = var.discovery.size
  protocol    = var.discovery.protocol
  service_url = var.discovery.service_url
}

locals {
  discovery = etcd_discovery_token.this.bootstrap
}
