# Machines that boot with Ignition: Fedora CoreOS. The configuration is written
# in Butane; `butane --strict` or the ct provider's data source "ct_config" makes
# the JSON of it that a machine takes. Put your cloud's own resource in place of
# terraform_data.machine.

terraform {
  required_version = ">= 1.11.0"
  required_providers {
    etcd = { source = "terraform-provider-etcd/etcd" }
  }
}

locals {
  client_url = { for name, node in var.nodes : name => "https://${node.address}:${node.client_port}" }
  peer_url   = { for name, node in var.nodes : name => "https://${node.address}:${node.peer_port}" }

  # What etcd trusts and shows: files that the machines have.
  tls = merge([for user in ["ETCD", "ETCD_PEER"] : {
    "${user}_TRUSTED_CA_FILE"  = "${var.pki}/ca.pem"
    "${user}_CERT_FILE"        = "${var.pki}/server.pem"
    "${user}_KEY_FILE"         = "${var.pki}/server-key.pem"
    "${user}_CLIENT_CERT_AUTH" = "true"
  }]...)

  # What "etcd-join install" brings.
  release = { for name, _ in var.nodes : name => {
    ETCD_DATA_DIR            = "/var/lib/etcd"
    ETCD_JOIN_BIN            = "/usr/local/bin"
    ETCD_JOIN_RELEASE_URL    = jsondecode(etcd_rollout.this.effective[name]).url
    ETCD_JOIN_RELEASE_SHA256 = jsondecode(etcd_rollout.this.effective[name]).sha256
  } }
}

provider "etcd" {
  endpoints = values(local.client_url)
  ca_cert   = "pki/ca.pem"
  cert      = "pki/root.pem"
  key       = "pki/root-key.pem"
}

provider "etcd" { # the registry is another etcd
  alias     = "registry"
  endpoints = var.registry
  ca_cert   = "pki/ca.pem"
  cert      = "pki/root.pem"
  key       = "pki/root-key.pem"
}

resource "etcd_discovery_token" "this" {
  provider = etcd.registry
  founders = var.founders

  # What the machines show to the registry: files that they have.
  machine_access = {
    ca_cert = "${var.pki}/ca.pem"
    cert    = "${var.pki}/server.pem"
    key     = "${var.pki}/server-key.pem"
  }
}

# Lets a new release through to one machine in each apply.
resource "etcd_rollout" "this" {
  desired = { for name, _ in var.nodes : name => jsonencode(var.archive) }
}

resource "etcd_member_config" "node" {
  for_each         = var.nodes
  name             = each.key
  peer_urls        = [local.peer_url[each.key]]
  client_urls      = [local.client_url[each.key]]
  bootstrap        = etcd_discovery_token.this.bootstrap
  triggers_replace = etcd_rollout.this.effective[each.key]
}

# Stands for your virtual machine. Where this says input, yours says
# user_data = data.ct_config.node[each.key].rendered.
resource "terraform_data" "machine" {
  for_each         = var.nodes
  triggers_replace = etcd_member_config.node[each.key].id # new user data, new machine

  input = templatefile("${path.module}/etcd.bu.tftpl", {
    member_env             = provider::etcd::environment_file(merge(etcd_member_config.node[each.key].environment, local.tls, local.release[each.key]))
    join_script_base64gzip = etcd_member_config.node[each.key].join_script_base64gzip
  })
}

resource "etcd_member" "node" {
  for_each   = var.nodes
  config     = etcd_member_config.node[each.key]
  machine_id = terraform_data.machine[each.key].id # its replacement takes the member out first
}
