# The present value of each member. Here it is the same for all.
import {
  to = etcd_rollout.this
  id = jsonencode({ for name, ip in local.nodes : name => var.image })
}
