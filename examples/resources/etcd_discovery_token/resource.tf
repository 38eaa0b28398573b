# The discovery cluster is not the cluster that is to form.
resource "etcd_discovery_token" "this" {
  provider = etcd.registry
  size     = 3 # the number of initial members
}

# The addresses of the members are not known: each machine sets its own URLs.
resource "etcd_cluster" "this" {
  members   = { a = {}, b = {}, c = {} }
  discovery = etcd_discovery_token.this.bootstrap
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
