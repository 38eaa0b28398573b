# A discovery cluster of your own, and a cluster that forms with it. Terraform logs
# in there as a user who may read and write the tokens and nothing else, the machines
# as one who may read and write the token of their cluster. It runs on this
# computer; see README.md for a real one.

terraform {
  required_version = ">= 1.11.0"
  required_providers {
    etcd = { source = "terraform-provider-etcd/etcd" }
  }
}

locals {
  registry = "http://127.0.0.1:${var.registry_port}" # https, where there is a network between
  as_root = {
    no_proxy                = "*"
    ETCDCTL                 = var.etcdctl
    ETCDCTL_ENDPOINTS       = local.registry
    ETCDCTL_COMMAND_TIMEOUT = "60s" # a busy machine takes its time to check a password
    ROOT_PASSWORD           = var.root_password
  }
}

provider "etcd" {}

provider "etcd" { # the discovery cluster is another etcd
  alias     = "registry"
  endpoints = [local.registry]
  username  = "discovery"
  password  = var.discovery_password
}

module "registry" { # usually it is there already
  source      = "../local-registry"
  client_port = var.registry_port
  directory   = var.directory
  etcd        = var.etcd
}

resource "terraform_data" "secured" {
  triggers_replace = module.registry

  provisioner "local-exec" {
    command     = "sh \"${abspath("${path.module}/secure.sh")}\""
    environment = merge(local.as_root, { DISCOVERY_PASSWORD = var.discovery_password })
  }
  depends_on = [module.registry]
}

resource "etcd_discovery_token" "this" {
  provider       = etcd.registry
  size           = length(var.nodes)
  machine_access = { username = var.cluster }
  depends_on     = [terraform_data.secured]
}

# The machines of one cluster cannot register in another one.
resource "terraform_data" "user" {
  triggers_replace = etcd_discovery_token.this.token

  provisioner "local-exec" {
    command = "sh \"${abspath("${path.module}/cluster.sh")}\" allow \"$CLUSTER\" \"$TOKEN\""
    environment = merge(local.as_root, {
      CLUSTER          = var.cluster
      CLUSTER_PASSWORD = var.cluster_password
      TOKEN            = etcd_discovery_token.this.token
    })
  }
}

resource "etcd_cluster" "this" {
  members = { for name, node in var.nodes : name => {
    peer_urls   = ["http://127.0.0.1:${node.peer_port}"]
    client_urls = ["http://127.0.0.1:${node.client_port}"]
  } }
  discovery = etcd_discovery_token.this.bootstrap
}

module "machine" { # your virtual machine
  source    = "../local-machine"
  for_each  = var.nodes
  name      = each.key
  etcd      = var.etcd
  directory = var.directory

  # The password is not part of the node, and so not part of its state: a machine
  # gets it from its secret store.
  config = merge(etcd_cluster.this.node[each.key], {
    environment = merge(etcd_cluster.this.node[each.key].environment, { ETCD_DISCOVERY_PASSWORD = var.cluster_password })
  })
  depends_on = [terraform_data.user]
}

resource "etcd_member" "node" {
  for_each   = var.nodes
  config     = etcd_cluster.this.node[each.key]
  machine_id = module.machine[each.key].id # the member is removed before its machine
}
