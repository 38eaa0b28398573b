variable "image" {
  type    = string
  default = "debian-12-etcd-3.6.16"
}

# After a change of the image, each apply replaces one node, in name order, while
# all members are healthy.
resource "etcd_rollout" "this" {
  desired = { for name, ip in local.nodes : name => var.image }
}

resource "etcd_member_config" "node" {
  for_each         = local.nodes
  name             = each.key
  address          = each.value
  bootstrap        = etcd_discovery_token.this.bootstrap
  triggers_replace = etcd_rollout.this.effective[each.key]
}

resource "terraform_data" "machine" { # stands for your virtual machine
  for_each         = local.nodes
  triggers_replace = etcd_member_config.node[each.key].id
  input            = { image = etcd_rollout.this.effective[each.key] }
}

resource "etcd_member" "node" {
  for_each   = local.nodes
  config     = etcd_member_config.node[each.key]
  machine_id = terraform_data.machine[each.key].id
}

output "pending" {
  value = etcd_rollout.this.pending
}
