# A warning at every plan and apply while the heartbeat of a server is missing.
check "web_servers_beat" {
  data "etcd_heartbeats" "web" {
    expected = ["web1", "web2", "web3"]
  }

  assert {
    condition     = length(data.etcd_heartbeats.web.missing) == 0
    error_message = "No beat from ${join(", ", data.etcd_heartbeats.web.missing)}."
  }
}

# The events of ten seconds: started, beat, stopped, missed.
data "etcd_heartbeats" "now" {
  watch = "10s"
}

output "seen" {
  value = [for e in data.etcd_heartbeats.now.events : "${e.name} ${e.kind}"]
}
