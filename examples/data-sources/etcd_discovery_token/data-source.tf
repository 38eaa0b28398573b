# Which members have registered with a token that Terraform did not create?
data "etcd_discovery_token" "theirs" {
  provider = etcd.registry
  token    = "5a3c7d0e4b1f4c52a9e86b1d0f7c2e93"
}

# The same with the URL that members of etcd 3.4 or 3.5 were started with.
data "etcd_discovery_token" "old" {
  provider = etcd.registry
  url      = "https://registry.example.com:2379/v2/keys/_etcd/registry/5a3c7d0e4b1f4c52a9e86b1d0f7c2e93"
}

output "registered" {
  value = data.etcd_discovery_token.theirs.members[*].name
}
