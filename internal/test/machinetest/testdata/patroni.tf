# Databases that use the cluster, with the user data of examples/patroni.

variable "databases" {
  type = map(string)
}

variable "client" {
  type = object({ ca = string, cert = string, key = string })
}

locals {
  discovery = null
}

resource "terraform_data" "database" {
  for_each = var.databases
  input    = "${var.cloud}/${each.key}"

  provisioner "local-exec" {
    command = "printf %s \"$USER_DATA\" | curl -q --noproxy '*' -sS --fail-with-body -T - \"$MACHINE\""
    environment = {
      MACHINE = "${self.input}?address=${each.value}&image=plain"
      # The image has the packages, and Patroni masked.
      USER_DATA = replace(templatefile("${path.module}/user-data.yaml.tftpl", {
        name      = each.key
        address   = each.value
        hosts     = [for url in etcd_cluster.this.endpoints : trimprefix(url, "https://")]
        ca        = var.client.ca
        cert      = var.client.cert
        key       = var.client.key
        passwords = { replication = "r", restapi = "p" }
      }), "/(?m)^packages: .*$/", "bootcmd: [[systemctl, unmask, patroni]]")
    }
  }

  provisioner "local-exec" {
    when    = destroy
    command = "curl -q --noproxy '*' -sS --fail-with-body -X DELETE \"$MACHINE\""
    environment = {
      MACHINE = self.input
    }
  }

  depends_on = [etcd_member.node]
}
