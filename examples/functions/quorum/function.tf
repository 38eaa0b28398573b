variable "nodes" {
  type    = set(string)
  default = ["a", "b", "c"]
}

# Of three voters one may fail.
output "failure_tolerance" {
  value = length(var.nodes) - provider::etcd::quorum(length(var.nodes))
}
