# While this run lives, /running/deploy holds a value of its own: monitoring
# sees the run start, beat and stop, and a second run of the same name is told
# that one is under way.
ephemeral "etcd_heartbeat" "deploy" {
  name = "deploy"
  ttl  = "30s"
}

# What is to happen only while it beats, depends on it.
resource "terraform_data" "deploy" {
  triggers_replace = var.release
  depends_on       = [ephemeral.etcd_heartbeat.deploy]

  provisioner "local-exec" {
    command = "echo deploying ${var.release}"
  }
}

# Take over from an owner that is known to be stuck.
ephemeral "etcd_heartbeat" "standby" {
  name     = "scheduler"
  value    = "standby in rack 2"
  ttl      = "10s"
  interval = "2s"
  takeover = true
}
