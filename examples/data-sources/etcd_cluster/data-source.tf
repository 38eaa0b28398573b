data "etcd_cluster" "this" {}

# A warning at every plan and apply while there is a problem.
check "etcd" {
  assert {
    condition     = data.etcd_cluster.this.healthy
    error_message = join("\n", data.etcd_cluster.this.advice)
  }
}

# For clients: the endpoints of every voting member, without learners.
output "endpoints" {
  value = data.etcd_cluster.this.voter_endpoints
}

output "members" {
  value = { for m in data.etcd_cluster.this.members : m.name => "${m.role}, ${m.version == null ? m.answer : m.version}" }
}
