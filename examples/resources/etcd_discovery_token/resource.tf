# The registry is another etcd than the one that is to be formed.
resource "etcd_discovery_token" "this" {
  provider = etcd.registry
  founders = ["a", "b", "c"] # who may bootstrap; or only: size = 3
}

# The machines reach the registry by another name than this run does, and need
# a certificate for it. The files are on the machines.
resource "etcd_discovery_token" "inside" {
  provider             = etcd.registry
  size                 = 3
  advertised_endpoints = ["https://registry.internal:2379"]
  machine_access = {
    ca_cert = "/etc/etcd/registry-ca.pem"
    cert    = "/etc/etcd/registry-client.pem"
    key     = "/etc/etcd/registry-client-key.pem"
  }
}

# On a registry that serves the v2 API, for members up to etcd 3.6.
resource "etcd_discovery_token" "old" {
  provider = etcd.registry
  size     = 3
  protocol = "v2"
}
