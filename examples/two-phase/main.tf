# The two-phase add of the etcd manual: add the member, start its process with the
# environment that the add returned, promote it. It adds one node to a running
# cluster, by default that of ../local-cluster. See README.md.

terraform {
  required_version = ">= 1.11.0"
  required_providers {
    etcd = { source = "terraform-provider-etcd/etcd" }
  }
}

locals {
  client_url = "http://127.0.0.1:${var.client_port}"
  peer_url   = "http://127.0.0.1:${var.peer_port}"
}

provider "etcd" {
  endpoints = concat(var.endpoints, [local.client_url])
}

# Phase 1: the member is added as a learner. It has no vote, so the quorum does not
# change, whatever happens to the machine.
resource "etcd_learner" "d" {
  name       = "d"
  peer_urls  = [local.peer_url]
  wait_until = "announced"
}

# Phase 2: the machine boots with the initial cluster as of the add.
resource "terraform_data" "machine" { # stands for your virtual machine
  triggers_replace = etcd_learner.d.id
  input            = { script = abspath(var.machine_sh), directory = "${abspath(var.directory)}/d" }

  provisioner "local-exec" {
    command = "sh \"${self.input.script}\" new \"${self.input.directory}\""
    environment = {
      ETCD_BIN = var.etcd
      MACHINE_ENV = join("\n", [for key, value in merge(etcd_learner.d.environment, {
        ETCD_LISTEN_PEER_URLS      = local.peer_url
        ETCD_LISTEN_CLIENT_URLS    = local.client_url
        ETCD_ADVERTISE_CLIENT_URLS = local.client_url
      }) : "${key}=${value}"])
    }
  }

  provisioner "local-exec" {
    when    = destroy
    command = "sh \"${self.input.script}\" down \"${self.input.directory}\""
  }
}

# Phase 3: the learner has caught up and is promoted. From here on this resource
# manages the membership. etcd_learner.d can stay, or be removed.
resource "etcd_member" "d" {
  name       = "d"
  peer_urls  = etcd_learner.d.peer_urls
  learner_id = etcd_learner.d.id
  machine_id = terraform_data.machine.id
}
