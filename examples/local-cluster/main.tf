# A cluster on this computer. Its machines are directories in which machine.sh
# runs a real etcd. Everything else is as it would be with virtual machines.

terraform {
  required_version = ">= 1.11.0"
  required_providers {
    etcd = { source = "terraform-provider-etcd/etcd" }
  }
}

locals {
  directory = abspath(var.directory)
  script    = abspath("${path.module}/machine.sh")

  members = { for name, ports in merge(var.nodes, var.learners) : name => {
    peer_urls   = ["http://127.0.0.1:${ports.peer_port}"]
    client_urls = ["http://127.0.0.1:${ports.client_port}"]
    learner     = contains(keys(var.learners), name)
  } }

  registry_client_url = "http://127.0.0.1:${var.registry.client_port}"
  registry_peer_url   = "http://127.0.0.1:${var.registry.peer_port}"
}

provider "etcd" {} # the nodes know their addresses

provider "etcd" { # the discovery cluster is another etcd
  alias     = "registry"
  endpoints = [local.registry_client_url]
}

# Where the initial members meet. Usually it is there already. Here it is one more
# machine, so that one apply does it all.
resource "terraform_data" "registry" {
  input = { script = local.script, directory = "${local.directory}/registry", parent = local.directory }

  provisioner "local-exec" {
    command = <<-EOT
      sh "${self.input.script}" new "${self.input.directory}" || exit
      tries=0
      until curl -fs -o "${self.input.directory}/health" "${local.registry_client_url}/health"; do
        tries=$((tries + 1))
        [ $tries -lt 600 ] || { tail -n 5 "${self.input.directory}/etcd.log"; exit 1; }
        sleep 0.1
      done
    EOT
    environment = {
      no_proxy       = "*" # everything is on this computer
      ETCD_BIN       = var.etcd
      MACHINE_EVENTS = "${local.directory}.events"
      MACHINE_ENV    = <<-EOT
        ETCD_NAME=registry
        ETCD_LISTEN_CLIENT_URLS=${local.registry_client_url}
        ETCD_ADVERTISE_CLIENT_URLS=${local.registry_client_url}
        ETCD_LISTEN_PEER_URLS=${local.registry_peer_url}
        ETCD_INITIAL_ADVERTISE_PEER_URLS=${local.registry_peer_url}
        ETCD_INITIAL_CLUSTER=registry=${local.registry_peer_url}
      EOT
    }
  }

  provisioner "local-exec" { # the last machine to go
    when    = destroy
    command = "sh \"${self.input.script}\" down \"${self.input.directory}\" && { rmdir \"${self.input.parent}\" || true; }"
  }
}

resource "etcd_discovery_token" "this" {
  provider   = etcd.registry
  size       = length(var.nodes) # no effect once the cluster has formed
  depends_on = [terraform_data.registry]
}

resource "etcd_cluster" "this" {
  members   = local.members
  discovery = etcd_discovery_token.this.bootstrap
  revision  = { image = var.image, etcd = var.etcd } # a change is applied to one node in each apply
}

# Stands for a virtual machine. What cloud-init would write to files is handed
# over in two variables.
resource "terraform_data" "machine" {
  for_each         = local.members
  triggers_replace = etcd_cluster.this.node[each.key].id # other user data, another machine

  # A provisioner that runs at destroy sees nothing but this.
  input = { script = local.script, directory = "${local.directory}/${each.key}" }

  provisioner "local-exec" {
    command = "sh \"${self.input.script}\" new \"${self.input.directory}\""
    environment = {
      no_proxy       = "*"
      ETCD_BIN       = etcd_cluster.this.node[each.key].revision.etcd
      MACHINE_EVENTS = "${local.directory}.events"
      MACHINE_ENV    = join("\n", [for key, value in etcd_cluster.this.node[each.key].environment : "${key}=${value}"])
      MACHINE_JOIN   = etcd_cluster.this.node[each.key].join_script_base64gzip
    }
  }

  provisioner "local-exec" {
    when    = destroy
    command = "sh \"${self.input.script}\" down \"${self.input.directory}\""
  }
}

resource "etcd_member" "node" {
  for_each   = var.nodes
  config     = etcd_cluster.this.node[each.key]
  machine_id = terraform_data.machine[each.key].id # the member is removed before its machine
  timeouts   = { create = "2m", delete = "2m" }
}

resource "etcd_learner" "this" {
  for_each   = var.learners
  config     = etcd_cluster.this.node[each.key]
  machine_id = terraform_data.machine[each.key].id
  promote    = each.value.promote
  timeouts   = { create = "2m", update = "2m", delete = "2m" }
}
