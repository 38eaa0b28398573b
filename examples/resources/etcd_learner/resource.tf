locals {
  nodes    = { a = { address = "10.0.1.10" }, b = { address = "10.0.1.11" }, c = { address = "10.0.1.12" } }
  standbys = { standby = { address = "10.0.1.20", learner = true } }
}

resource "etcd_cluster" "this" {
  members = merge(local.nodes, local.standbys)
}

# Stands for the virtual machine of the learner.
resource "terraform_data" "standby" {
  triggers_replace = etcd_cluster.this.node["standby"].id
  input            = etcd_cluster.this.node["standby"].environment
}

# A standby: it receives all data and does not vote. Set promote to true to
# promote it in place once it has caught up.
resource "etcd_learner" "standby" {
  config     = etcd_cluster.this.node["standby"]
  machine_id = terraform_data.standby.id
  promote    = false
}
