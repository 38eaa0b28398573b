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
