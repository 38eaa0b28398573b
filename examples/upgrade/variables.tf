variable "nodes" {
  description = "Client ports on 127.0.0.1, by name. The peer port is the next one."
  type        = map(number)
  default     = { a = 23810, b = 23820, c = 23830 }
}

variable "etcd_version" {
  description = "Version of etcd on the machines. A change replaces one machine in each apply."
  type        = string
  default     = "3.6.16"
}

variable "image" {
  description = "Stands for the image of the machines. A change replaces one machine in each apply."
  type        = string
  default     = "one"
}

variable "binaries" {
  description = "Path of each version of etcd. Real machines download it, or have it in their image."
  type        = map(string)
  default     = { "3.6.16" = "../../bin/etcd-3.6", "3.7.3" = "../../bin/etcd-3.7" }
}
