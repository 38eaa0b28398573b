variable "nodes" {
  description = "The members by name, each with the ports of 127.0.0.1 that are its own."
  type        = map(object({ client_port = number, peer_port = number }))
  default = {
    a = { client_port = 23960, peer_port = 23961 }
    b = { client_port = 23962, peer_port = 23963 }
    c = { client_port = 23964, peer_port = 23965 }
  }
}

variable "etcd" {
  description = "The etcd on the machines: a path, or a command on PATH."
  type        = string
  default     = "../../bin/etcd-3.6"
}

variable "directory" {
  description = "Where the machines are, a directory for each."
  type        = string
  default     = "machines"
}
