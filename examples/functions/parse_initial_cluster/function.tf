# The content of ETCD_INITIAL_CLUSTER on a machine that Terraform does not manage.
variable "initial_cluster" {
  type    = string
  default = "a=https://10.0.1.10:2380,b=https://10.0.1.11:2380,c=https://10.0.1.12:2380"
}

# { a = ["https://10.0.1.10:2380"], b = … , c = … }
output "peer_urls" {
  value = provider::etcd::parse_initial_cluster(var.initial_cluster)
}
