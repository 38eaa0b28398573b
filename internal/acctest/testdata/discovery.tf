# The registry is another etcd, or a discovery service.

variable "registry" {
  type    = string
  default = null
}

variable "registry_ca" {
  type    = string
  default = null
}

variable "protocol" {
  type    = string
  default = "v3"
}

# Instead of the founders' names.
variable "size" {
  type    = number
  default = null
}

variable "service_url" {
  type    = string
  default = null
}

provider "etcd" {
  alias     = "registry"
  endpoints = var.registry == null ? null : [var.registry]
  ca_cert   = var.registry_ca
}

resource "etcd_discovery_token" "this" {
  provider    = etcd.registry
  founders    = var.size == null ? var.founders : null
  size        = var.size
  protocol    = var.protocol
  service_url = var.service_url
}

locals {
  bootstrap = etcd_discovery_token.this.bootstrap
}
