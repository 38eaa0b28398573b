# Machines that boot with cloud-init, for Debian and Ubuntu. Put your cloud's
# own resource in place of terraform_data.machine.

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

# Stands for your virtual machine. Its argument is called user_data, user-data or
# custom_data in place of input.
resource "terraform_data" "machine" {
  for_each         = var.nodes
  triggers_replace = etcd_cluster.this.node[each.key].id # new user data, new machine

  input = provider::etcd::cloud_config(etcd_cluster.this.node[each.key], {
    # Without etcd, the machine downloads the official release of the version.
    etcd = {
      url    = etcd_cluster.this.node[each.key].revision.url
      sha256 = etcd_cluster.this.node[each.key].revision.sha256
    }
    tls = { # files that the machines have
      ca   = "${var.pki}/ca.pem"
      cert = "${var.pki}/server.pem"
      key  = "${var.pki}/server-key.pem"
    }
  })
}

resource "etcd_member" "node" {
  for_each   = var.nodes
  config     = etcd_cluster.this.node[each.key]
  machine_id = terraform_data.machine[each.key].id # the member is removed before its machine
}
