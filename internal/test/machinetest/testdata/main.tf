# A cluster of machines, as a user writes it; in place of a cloud's resource stand
# requests to the cloud of the tests.

terraform {
  required_providers {
    etcd = { source = "terraform-provider-etcd/etcd" }
  }
}

variable "cloud" {
  type = string
}

variable "nodes" {
  type = map(object({
    address = string
    image   = optional(string)
  }))
}

# Of the machines whose node has none of its own.
variable "image" {
  type = string
}

variable "scheme" {
  type    = string
  default = "http"
}

# Options of the user data, by name of the node.
variable "options" {
  type = any
}

resource "etcd_cluster" "this" {
  members = { for name, node in var.nodes : name => {
    peer_urls   = ["${var.scheme}://${node.address}:2380"]
    client_urls = ["${var.scheme}://${node.address}:2379"]
  } }
  discovery = local.discovery
  revision  = { image = var.image }
}

resource "terraform_data" "machine" {
  for_each         = var.nodes
  triggers_replace = etcd_cluster.this.node[each.key].id

  # A provisioner that runs at destroy sees nothing but this.
  input = "${var.cloud}/${each.key}"

  provisioner "local-exec" {
    command = "printf %s \"$USER_DATA\" | curl -q --noproxy '*' -sS --fail-with-body -T - \"$MACHINE\""
    environment = {
      MACHINE   = "${self.input}?address=${each.value.address}&image=${coalesce(each.value.image, etcd_cluster.this.node[each.key].revision.image)}"
      USER_DATA = provider::etcd::cloud_config(etcd_cluster.this.node[each.key], var.options[each.key])
    }
  }

  provisioner "local-exec" {
    when    = destroy
    command = "curl -q --noproxy '*' -sS --fail-with-body -X DELETE \"$MACHINE\""
    environment = {
      MACHINE = self.input
    }
  }
}

resource "etcd_member" "node" {
  for_each   = var.nodes
  config     = etcd_cluster.this.node[each.key]
  machine_id = terraform_data.machine[each.key].id
}
