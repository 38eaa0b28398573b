# What each member has at present: here the value that all of them are to have.
import {
  to = etcd_rollout.this
  id = jsonencode({ for name, ip in local.nodes : name => var.image })
}
