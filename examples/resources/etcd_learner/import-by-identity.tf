import {
  to       = etcd_learner.standby
  identity = { cluster_id = "3f1c2ab45d6e7f80", member_id = "8e9e05c52164694d" }
}
