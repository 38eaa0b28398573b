# While pending is not empty, apply again. reason says what it waits for.
output "pending" { value = module.etcd.pending }
output "reason" { value = module.etcd.reason }

# For clients, and for a configuration of backups.
output "endpoints" { value = module.etcd.endpoints }
output "private_endpoints" { value = module.etcd.private_endpoints }
output "address_map" { value = module.etcd.address_map }
output "clients" {
  value     = module.etcd.clients
  sensitive = true
}

# For SSH.
output "addresses" { value = module.etcd.addresses }

# To replace a lost cluster, and to leave Terraform.
output "cluster_id" { value = module.etcd.cluster_id }
output "ca_key" {
  value     = module.etcd.ca_key
  sensitive = true
}
