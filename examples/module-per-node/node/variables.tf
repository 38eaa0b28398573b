variable "node" {
  description = "A node of etcd_cluster."
  type        = any
}

variable "etcd" {
  description = "The etcd on the machine: a path, or a command on PATH."
  type        = string
}
