# A cluster whose machines choose their own addresses when they boot, as with DHCP.
# The initial members find each other through a discovery cluster. A later member
# asks those that registered there.

terraform {
  required_version = ">= 1.11.0"
  required_providers {
    etcd = { source = "terraform-provider-etcd/etcd" }
  }
}

locals {
  directory           = abspath(var.directory)
  machine_sh          = abspath(var.machine_sh)
  boot_sh             = abspath("${path.module}/boot.sh")
  registry_client_url = "http://127.0.0.1:${var.registry.client_port}"
  registry_peer_url   = "http://127.0.0.1:${var.registry.peer_port}"
}

provider "etcd" {} # no endpoints: each member brings its own

provider "etcd" {
  alias     = "registry"
  endpoints = [local.registry_client_url]
}

# Usually it is there already.
resource "terraform_data" "registry" {
  input = { script = local.machine_sh, directory = "${local.directory}/registry" }

  provisioner "local-exec" {
    command = <<-EOT
      sh "${self.input.script}" new "${self.input.directory}" || exit
      tries=0
      until curl -fs -o "${self.input.directory}/health" "${local.registry_client_url}/health"; do
        tries=$((tries + 1))
        [ $tries -lt 200 ] || { tail -n 5 "${self.input.directory}/etcd.log"; exit 1; }
        sleep 0.1
      done
    EOT
    environment = {
      no_proxy    = "*" # everything is on this computer
      ETCD_BIN    = var.etcd
      MACHINE_ENV = <<-EOT
        ETCD_NAME=registry
        ETCD_LISTEN_CLIENT_URLS=${local.registry_client_url}
        ETCD_ADVERTISE_CLIENT_URLS=${local.registry_client_url}
        ETCD_LISTEN_PEER_URLS=${local.registry_peer_url}
        ETCD_INITIAL_ADVERTISE_PEER_URLS=${local.registry_peer_url}
        ETCD_INITIAL_CLUSTER=registry=${local.registry_peer_url}
      EOT
    }
  }

  provisioner "local-exec" {
    when    = destroy
    command = "sh \"${self.input.script}\" down \"${self.input.directory}\""
  }
}

resource "etcd_discovery_token" "this" {
  provider   = etcd.registry
  size       = length(var.nodes)
  depends_on = [terraform_data.registry]
}

# Neither an address nor URLs: the machines set them.
resource "etcd_cluster" "this" {
  members   = { for name in var.nodes : name => {} }
  discovery = etcd_discovery_token.this.bootstrap
}

# Stands for a virtual machine that gets its address when it boots.
resource "terraform_data" "machine" {
  for_each         = var.nodes
  triggers_replace = etcd_cluster.this.node[each.key].id
  input = {
    boot      = local.boot_sh
    script    = local.machine_sh
    directory = "${local.directory}/${each.key}"
    addresses = "${local.directory}/${each.key}.addresses"
  }

  provisioner "local-exec" {
    command = "sh \"${self.input.boot}\" new \"${self.input.directory}\""
    environment = {
      no_proxy     = "*"
      MACHINE_SH   = self.input.script
      PORTS        = join(" ", var.ports)
      ETCD_BIN     = var.etcd
      MACHINE_ENV  = join("\n", [for key, value in etcd_cluster.this.node[each.key].environment : "${key}=${value}"])
      MACHINE_JOIN = etcd_cluster.this.node[each.key].join_script_base64gzip
    }
  }

  provisioner "local-exec" {
    when        = destroy
    command     = "sh \"${self.input.boot}\" down \"${self.input.directory}\""
    environment = { MACHINE_SH = self.input.script }
  }
}

# The machines' addresses. With a cloud these are attributes of the machine, such
# as private_ip; a machine on this computer leaves them in a file, which is read
# once the machine is there.
locals {
  address = { for name in var.nodes : name => jsondecode(file(terraform_data.machine[name].output.addresses)) }
}

resource "etcd_member" "node" {
  for_each   = var.nodes
  peer_urls  = [local.address[each.key].peer_url]
  endpoints  = [for name in setintersection(var.nodes, var.contacts) : local.address[name].client_url]
  config     = etcd_cluster.this.node[each.key]
  machine_id = terraform_data.machine[each.key].id
  timeouts   = { create = "2m", delete = "2m" }
}
