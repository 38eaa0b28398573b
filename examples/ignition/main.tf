# Machines that boot with Ignition: Fedora CoreOS. The configuration is written
# in Butane. `butane --strict`, or data "ct_config" of the ct provider, converts it
# to the JSON that a machine takes. Put your cloud's own resource in place of
# terraform_data.machine.

terraform {
  required_version = ">= 1.11.0"
  required_providers {
    etcd = { source = "terraform-provider-etcd/etcd" }
  }
}

provider "etcd" {
  ca_cert = "pki/ca.pem"
  cert    = "pki/root.pem"
  key     = "pki/root-key.pem"
}

resource "etcd_cluster" "this" {
  members = { for name, node in var.nodes : name => {
    peer_urls   = ["https://${node.address}:${node.peer_port}"]
    client_urls = ["https://${node.address}:${node.client_port}"]
  } }
  version  = var.release.version
  revision = { url = var.release.url, sha256 = var.release.sha256 }
}

locals {
  # Certificates of etcd for clients and peers: files that the machines have.
  tls = merge([for user in ["ETCD", "ETCD_PEER"] : {
    "${user}_TRUSTED_CA_FILE"  = "${var.pki}/ca.pem"
    "${user}_CERT_FILE"        = "${var.pki}/server.pem"
    "${user}_KEY_FILE"         = "${var.pki}/server-key.pem"
    "${user}_CLIENT_CERT_AUTH" = "true"
  }]...)

  # What "etcd-join install" downloads.
  release = { for name, node in etcd_cluster.this.node : name => {
    ETCD_DATA_DIR            = "/var/lib/etcd"
    ETCD_JOIN_BIN            = "/usr/local/bin"
    ETCD_JOIN_RELEASE_URL    = node.revision.url
    ETCD_JOIN_RELEASE_SHA256 = node.revision.sha256
  } }
}

# Stands for your virtual machine, which takes
# user_data = data.ct_config.node[each.key].rendered.
resource "terraform_data" "machine" {
  for_each         = var.nodes
  triggers_replace = etcd_cluster.this.node[each.key].id # new user data, new machine

  input = templatefile("${path.module}/etcd.bu.tftpl", {
    member_env             = provider::etcd::environment_file(merge(etcd_cluster.this.node[each.key].environment, local.tls, local.release[each.key]))
    join_script_base64gzip = etcd_cluster.this.node[each.key].join_script_base64gzip
  })
}

resource "etcd_member" "node" {
  for_each   = var.nodes
  config     = etcd_cluster.this.node[each.key]
  machine_id = terraform_data.machine[each.key].id # the member is removed before its machine
}
