list "etcd_member" "all" {
  provider = etcd
}
