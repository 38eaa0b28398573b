# The etcd in which the initial members of a cluster find each other, on this computer.
# Usually there is one already.

variable "client_port" {
  type    = number
  default = 23800
}

variable "etcd" {
  type = string
}

variable "directory" {
  type    = string
  default = "machines"
}

locals {
  client_url = "http://127.0.0.1:${var.client_port}"
  peer_url   = "http://127.0.0.1:${var.client_port + 1}"
}

resource "terraform_data" "registry" {
  input = {
    script    = abspath("${path.module}/../local-cluster/machine.sh")
    directory = "${abspath(var.directory)}/registry"
    endpoint  = local.client_url
  }

  provisioner "local-exec" {
    command = <<-EOT
      sh "${self.input.script}" new "${self.input.directory}" || exit
      tries=0
      until curl -fs -o "${self.input.directory}/health" "${self.input.endpoint}/health"; do
        tries=$((tries + 1))
        [ $tries -lt 600 ] || { tail -n 5 "${self.input.directory}/etcd.log"; exit 1; }
        sleep 0.1
      done
    EOT
    environment = {
      no_proxy    = "*"
      ETCD_BIN    = var.etcd
      MACHINE_ENV = <<-EOT
        ETCD_NAME=registry
        ETCD_LISTEN_CLIENT_URLS=${local.client_url}
        ETCD_ADVERTISE_CLIENT_URLS=${local.client_url}
        ETCD_LISTEN_PEER_URLS=${local.peer_url}
        ETCD_INITIAL_ADVERTISE_PEER_URLS=${local.peer_url}
        ETCD_INITIAL_CLUSTER=registry=${local.peer_url}
      EOT
    }
  }

  provisioner "local-exec" {
    when    = destroy
    command = "sh \"${self.input.script}\" down \"${self.input.directory}\""
  }
}
