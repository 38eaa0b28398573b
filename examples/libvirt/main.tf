# Three members as virtual machines of libvirt, from nothing to a cluster with TLS in one
# apply. README.md has the steps, and ../modules/libvirt what this creates.

terraform {
  required_providers { etcd = { source = "terraform-provider-etcd/etcd" } }
}

provider "etcd" {
  ca_cert = module.etcd.ca_cert
  cert    = module.etcd.cert
  key     = module.etcd.key
}

module "etcd" {
  source         = "../modules/libvirt" # elsewhere: see README.md
  name           = "etcd"
  nodes          = { a = "10.17.3.10", b = "10.17.3.11", c = "10.17.3.12" }
  size           = { vcpu = 2, memory = 2048 }
  etcd_version   = "3.6.16"
  ssh_public_key = file("~/.ssh/id_ed25519.pub")
  pki            = "pki"
}
