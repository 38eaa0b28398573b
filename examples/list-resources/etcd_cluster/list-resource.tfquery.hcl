list "etcd_cluster" "this" {
  provider = etcd
}
