# By name here. From Terraform 1.12 and OpenTofu 1.12 on, the identity does as well:
#   identity = { cluster_id = "3f1c2ab45d6e7f80", member_id = "8e9e05c52164694d" }
import {
  to = etcd_learner.standby
  id = "standby"
}
