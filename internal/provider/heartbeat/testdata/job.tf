ephemeral "etcd_heartbeat" "deploy" {
  name = "deploy"
  ttl  = "1h"
}

data "etcd_heartbeats" "all" {
  expected   = ["deploy", "web1"]
  depends_on = [ephemeral.etcd_heartbeat.deploy]
}

output "missing" { value = data.etcd_heartbeats.all.missing }

resource "terraform_data" "deploy" {
  depends_on = [ephemeral.etcd_heartbeat.deploy]

  provisioner "local-exec" {
    command = "touch started; while [ ! -s go ]; do sleep 0.05; done; read code < go; exit $code"
  }
}
