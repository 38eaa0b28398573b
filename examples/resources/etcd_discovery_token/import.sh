# By its token.
terraform import etcd_discovery_token.this 5a3c7d0e4b1f4c52a9e86b1d0f7c2e93

# With another prefix, with protocol v2, and from a discovery service by its URL.
terraform import etcd_discovery_token.this /my/registry:5a3c7d0e4b1f4c52a9e86b1d0f7c2e93
terraform import etcd_discovery_token.this v2:5a3c7d0e4b1f4c52a9e86b1d0f7c2e93
terraform import etcd_discovery_token.this service:https://discovery.example.com/5a3c7d0e4b1f4c52a9e86b1d0f7c2e93
