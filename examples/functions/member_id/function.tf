# f7875276d5273a18: to find an initial member in logs and metrics before it has run.
output "member_id" {
  value = provider::etcd::member_id(["http://127.0.0.1:23801"], "tok-1")
}
