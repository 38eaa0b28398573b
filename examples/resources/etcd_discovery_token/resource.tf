# The discovery cluster is not the cluster that is to form.
resource "etcd_discovery_token" "this" {
  provider = etcd.registry
  founders = ["a", "b", "c"] # the initial members; or set only size = 3
}

# The machines reach the discovery cluster at another address than Terraform
# does, and need a certificate for it. The files are on the machines.
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

# For a discovery cluster with the v2 API, and members up to etcd 3.6.
resource "etcd_discovery_token" "old" {
  provider = etcd.registry
  size     = 3
  protocol = "v2"
}
