# The registry is another etcd than the one that is to be formed.
resource "etcd_discovery_token" "this" {
  provider = etcd.registry
  founders = ["a", "b", "c"] # who may bootstrap; or only: size = 3
}

# The machines reach the registry by another name than this run does.
resource "etcd_discovery_token" "inside" {
  provider             = etcd.registry
  size                 = 3
  advertised_endpoints = ["https://registry.internal:2379"]
}
