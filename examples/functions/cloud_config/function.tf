resource "etcd_cluster" "this" {
  members  = local.nodes
  version  = "3.6.16" # each machine downloads the release of its node
  revision = { image = "debian-12" }
}

# Stands for your virtual machine and its user_data.
resource "terraform_data" "machine" {
  for_each         = local.nodes
  triggers_replace = etcd_cluster.this.node[each.key].id
  input = provider::etcd::cloud_config(etcd_cluster.this.node[each.key], {
    tls         = { ca = "/etc/etcd/pki/ca.pem", cert = "/etc/etcd/pki/server.pem", key = "/etc/etcd/pki/server-key.pem" }
    data_disk   = { device = "/dev/disk/by-id/virtio-data" }
    environment = { ETCD_QUOTA_BACKEND_BYTES = "8589934592" }
    extra       = { packages = ["chrony"] }
  })
}
