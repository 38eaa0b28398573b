output "members" {
  description = "The members as of the last apply, by name."
  value = {
    for name, member in merge(etcd_member.node, etcd_learner.this) : name => {
      id        = member.id
      role      = member.role
      version   = member.version
      endpoints = member.client_urls
    }
  }
}

output "endpoints" {
  description = "For ETCDCTL_ENDPOINTS."
  value       = join(",", etcd_cluster.this.endpoints)
}
