# A change of the version replaces one machine in each apply.
resource "etcd_rollout" "this" {
  desired = { for name, _ in local.nodes : name => "3.6" }
}

resource "etcd_member_config" "node" {
  for_each         = local.nodes
  name             = each.key
  address          = each.value
  bootstrap        = etcd_initial_cluster.this.bootstrap
  triggers_replace = etcd_rollout.this.effective[each.key]
}

# Stands for your virtual machine and its user_data.
resource "terraform_data" "machine" {
  for_each         = local.nodes
  triggers_replace = etcd_member_config.node[each.key].id
  input = provider::etcd::cloud_config(etcd_member_config.node[each.key], {
    etcd        = local.releases[etcd_rollout.this.effective[each.key]]
    tls         = { ca = "/etc/etcd/pki/ca.pem", cert = "/etc/etcd/pki/server.pem", key = "/etc/etcd/pki/server-key.pem" }
    data_disk   = { device = "/dev/disk/by-id/virtio-data" }
    environment = { ETCD_QUOTA_BACKEND_BYTES = "8589934592" }
    extra       = { packages = ["chrony"] }
  })
}
