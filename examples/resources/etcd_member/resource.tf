resource "etcd_member" "node" {
  for_each   = local.nodes
  config     = etcd_cluster.this.node[each.key]
  machine_id = terraform_data.machine[each.key].id # if the machine is replaced, the member is removed first
}

# A member whose process is not started by Terraform.
resource "etcd_member" "elsewhere" {
  name      = "d"
  peer_urls = ["https://10.0.1.13:2380"]

  timeouts = {
    create = "30m"
  }
}
