list "etcd_learner" "all" {
  provider = etcd
}
