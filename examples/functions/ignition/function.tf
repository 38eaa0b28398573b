resource "etcd_cluster" "this" {
  members  = local.nodes
  revision = { image = "fedora-coreos-42-etcd" } # an image that has etcd
}

# Stands for your virtual machine and its user_data.
resource "terraform_data" "machine" {
  for_each         = local.nodes
  triggers_replace = etcd_cluster.this.node[each.key].id
  input = provider::etcd::ignition(etcd_cluster.this.node[each.key], {
    etcd = { path = "/usr/local/bin" }
    tls  = { ca = "/etc/etcd/pki/ca.pem", cert = "/etc/etcd/pki/server.pem", key = "/etc/etcd/pki/server-key.pem" }
  })
}
