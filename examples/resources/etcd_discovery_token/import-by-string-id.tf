import {
  to = etcd_discovery_token.this
  id = "5a3c7d0e4b1f4c52a9e86b1d0f7c2e93"
}
