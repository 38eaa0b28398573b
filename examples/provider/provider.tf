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
  ca_cert   = "pki/ca.pem"
  cert      = "pki/root.pem"
  key       = "pki/root-key.pem"
}

provider "etcd" { # the registry is another etcd
  alias     = "registry"
  endpoints = ["https://registry.example.com:2379"]
}

resource "etcd_discovery_token" "this" {
  provider = etcd.registry
  founders = ["a", "b", "c"] # who may bootstrap; or only: size = 3
}

resource "etcd_member_config" "node" {
  for_each  = local.nodes
  name      = each.key
  address   = each.value
  bootstrap = etcd_discovery_token.this.bootstrap
}

# Stands for your virtual machine. Its user data installs the environment and the
# join script of its configuration.
resource "terraform_data" "machine" {
  for_each         = local.nodes
  triggers_replace = etcd_member_config.node[each.key].id
  input = templatefile("cloud-init.yaml.tftpl", {
    member_env             = provider::etcd::environment_file(etcd_member_config.node[each.key].environment)
    join_script_base64gzip = etcd_member_config.node[each.key].join_script_base64gzip
  })
}

resource "etcd_member" "node" {
  for_each   = local.nodes
  config     = etcd_member_config.node[each.key]
  machine_id = terraform_data.machine[each.key].id # its replacement takes the member out first
}
