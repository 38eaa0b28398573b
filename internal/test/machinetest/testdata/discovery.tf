# The discovery cluster is another machine, so that one apply does it all.

variable "registry" {
  type = object({ address = string, image = string })
}

locals {
  registry  = "http://${var.registry.address}:2379"
  discovery = etcd_discovery_token.this.bootstrap
}

provider "etcd" {
  alias     = "registry"
  endpoints = [local.registry]
}

resource "terraform_data" "registry" {
  input = "${var.cloud}/registry"

  provisioner "local-exec" {
    command = <<-EOT
      printf %s "$USER_DATA" | curl -q --noproxy '*' -sS --fail-with-body -T - "$MACHINE" || exit
      curl -q --noproxy '*' -fsS --retry 1200 --retry-delay 1 --retry-max-time 240 --retry-all-errors --connect-timeout 1 -o health "$REGISTRY/health" 2>/dev/null
    EOT
    environment = {
      REGISTRY = local.registry
      MACHINE  = "${self.input}?address=${var.registry.address}&image=${var.registry.image}"
      USER_DATA = join("\n", ["#cloud-config", jsonencode({
        write_files = [{
          path    = "/etc/systemd/system/etcd.service"
          content = <<-EOT
            [Unit]
            Wants=network-online.target
            After=network-online.target
            [Service]
            Type=notify
            StateDirectory=etcd
            Restart=always
            RestartSec=1
            Environment=ETCD_DATA_DIR=/var/lib/etcd
            Environment=ETCD_LISTEN_CLIENT_URLS=http://0.0.0.0:2379 ETCD_ADVERTISE_CLIENT_URLS=${local.registry}
            ExecStart=/usr/local/bin/etcd
            [Install]
            WantedBy=multi-user.target
          EOT
        }]
        runcmd = [["systemctl", "enable", "--now", "--no-block", "etcd.service"]]
      })])
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

resource "etcd_discovery_token" "this" {
  provider   = etcd.registry
  size       = 3
  protocol   = "v3"
  depends_on = [terraform_data.registry]
}
