import {
  for_each = local.nodes
  to       = etcd_member.node[each.key]
  id       = each.key
}
