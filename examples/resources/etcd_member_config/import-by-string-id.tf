import {
  for_each = local.nodes
  to       = etcd_member_config.node[each.key]
  id       = each.key
}
