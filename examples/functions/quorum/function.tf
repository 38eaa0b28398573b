variable "nodes" {
  type    = set(string)
  default = ["a", "b", "c"]
}

# Of three voting members one can fail.
output "failure_tolerance" {
  value = length(var.nodes) - provider::etcd::quorum(length(var.nodes))
}
