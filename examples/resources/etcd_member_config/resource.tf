resource "etcd_member_config" "node" {
  for_each         = local.nodes
  name             = each.key
  address          = each.value
  bootstrap        = etcd_discovery_token.this.bootstrap
  triggers_replace = var.image # a change recreates the machine
}

# Stands for your virtual machine: it gets the environment and the join script.
resource "terraform_data" "machine" {
  for_each         = local.nodes
  triggers_replace = etcd_member_config.node[each.key].id
  input = {
    image                  = var.image
    environment            = etcd_member_config.node[each.key].environment
    join_script_base64gzip = etcd_member_config.node[each.key].join_script_base64gzip
  }
}
