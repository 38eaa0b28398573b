# While Terraform runs, the key /running/deploy exists: monitoring sees the run
# start, beat and stop, and a second run with the same name fails.
ephemeral "etcd_heartbeat" "deploy" {
  name = "deploy"
  ttl  = "30s"
}

# Runs only while the heartbeat is published.
resource "terraform_data" "deploy" {
  triggers_replace = var.release
  depends_on       = [ephemeral.etcd_heartbeat.deploy]

  provisioner "local-exec" {
    command = "echo deploying ${var.release}"
  }
}

# Takes the name from an owner that has stopped working.
ephemeral "etcd_heartbeat" "standby" {
  name     = "scheduler"
  value    = "standby in rack 2"
  ttl      = "10s"
  interval = "2s"
  takeover = true
}
