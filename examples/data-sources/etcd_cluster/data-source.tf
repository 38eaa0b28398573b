data "etcd_cluster" "this" {}

# A warning with every plan and apply, as long as something is wrong.
check "etcd" {
  assert {
    condition     = data.etcd_cluster.this.healthy
    error_message = join("\n", data.etcd_cluster.this.advice)
  }
}

# For what connects to the cluster: every voter, no learner.
output "endpoints" {
  value = data.etcd_cluster.this.voter_endpoints
}

output "members" {
  value = { for m in data.etcd_cluster.this.members : m.name => "${m.role}, ${m.version == null ? m.answer : m.version}" }
}
