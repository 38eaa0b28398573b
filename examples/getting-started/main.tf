# A cluster with TLS on this computer. README.md has the steps, and ../modules/local what
# this creates.

terraform {
  required_providers { etcd = { source = "terraform-provider-etcd/etcd" } }
}

provider "etcd" {
  ca_cert = module.etcd.ca_cert
  cert    = module.etcd.cert
  key     = module.etcd.key
}

module "etcd" {
  source       = "../modules/local" # on a cloud: ../modules/aws, ../modules/hetzner
  name         = "etcd"
  nodes        = { a = 24010, b = 24020, c = 24030 }
  size         = "small"
  image        = "one"
  etcd_version = "3.6.16"
  pki          = "pki"
}

output "pending" { value = module.etcd.pending }
