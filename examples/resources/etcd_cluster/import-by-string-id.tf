import {
  to = etcd_cluster.this
  id = "3f1c2ab45d6e7f80"
}
