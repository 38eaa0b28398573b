provider "etcd" {
  endpoints = [%q]
  username  = "root"
  password  = %q
  ca_cert   = %q
  cert      = %q
  key       = %q
}

resource "etcd_discovery_token" "this" {
  size = 3
  machine_access = {
    ca_cert  = %q
    cert     = %q
    key      = %q
    username = "root"
  }
}

data "etcd_discovery_token" "this" {
  token = etcd_discovery_token.this.token
}
