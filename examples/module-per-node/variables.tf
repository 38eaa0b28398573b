variable "nodes" {
  description = "Client ports on 127.0.0.1, by name. The peer port is the next one."
  type        = map(number)
  default     = { a = 24110, b = 24120, c = 24130 }
}

variable "image" {
  description = "Stands for the image of the machines. A change replaces one machine in each apply."
  type        = string
  default     = "one"
}

variable "etcd" {
  description = "The etcd on the machines: a path, or a command on PATH."
  type        = string
  default     = "../../bin/etcd-3.6"
}
