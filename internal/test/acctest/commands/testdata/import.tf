import {
  to = etcd_cluster.this
  id = %q
}

import {
  for_each = var.nodes
  to       = terraform_data.machine[each.key]
  id       = each.key
}

import {
  for_each = var.nodes
  to       = etcd_member.node[each.key]
  id       = each.key
}
