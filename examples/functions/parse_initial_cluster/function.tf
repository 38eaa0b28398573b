# As it stands in /etc/etcd/etcd.env on a machine that nobody described yet.
variable "initial_cluster" {
  type    = string
  default = "a=https://10.0.1.10:2380,b=https://10.0.1.11:2380,c=https://10.0.1.12:2380"
}

# { a = ["https://10.0.1.10:2380"], b = … , c = … }
output "peer_urls" {
  value = provider::etcd::parse_initial_cluster(var.initial_cluster)
}
