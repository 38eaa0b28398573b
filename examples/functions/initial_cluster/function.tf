locals {
  nodes = { a = "10.0.1.10", b = "10.0.1.11", c = "10.0.1.12" }
}

# a=https://10.0.1.10:2380,b=https://10.0.1.11:2380,c=https://10.0.1.12:2380
output "initial_cluster" {
  value = provider::etcd::initial_cluster({
    for name, ip in local.nodes : name => ["https://${ip}:2380"]
  })
}
