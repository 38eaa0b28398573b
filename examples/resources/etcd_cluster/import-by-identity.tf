import {
  to       = etcd_cluster.this
  identity = { cluster_id = "3f1c2ab45d6e7f80" }
}
