# Three members on Amazon EC2, one in each zone, from nothing to a cluster with TLS in
# one apply. README.md has the steps, and ../modules/aws what this creates.

terraform {
  required_providers { etcd = { source = "terraform-provider-etcd/etcd" } }
}

provider "aws" { region = "eu-central-1" }

provider "etcd" {
  address_map = module.etcd.address_map
  ca_cert     = module.etcd.ca_cert
  cert        = module.etcd.cert
  key         = module.etcd.key
}

module "etcd" {
  source         = "../modules/aws" # elsewhere: see README.md
  name           = "etcd"
  nodes          = { a = "10.0.1.10", b = "10.0.2.10", c = "10.0.3.10" }
  size           = "t4g.small"
  etcd_version   = "3.6.16"
  admin_networks = ["203.0.113.7/32"] # yours
  ssh_public_key = file("~/.ssh/id_ed25519.pub")
  pki            = "pki"
}
