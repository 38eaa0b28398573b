variable "nodes" {
  description = "Members by name, each with the ports of 127.0.0.1 that are its own."
  type        = map(object({ client_port = number, peer_port = number }))
  default = {
    a = { client_port = 23740, peer_port = 23741 }
    b = { client_port = 23750, peer_port = 23751 }
    c = { client_port = 23760, peer_port = 23761 }
  }
}

variable "directory" {
  description = "Where the machines are, a directory for each."
  type        = string
  default     = "machines"
}

variable "machine_sh" {
  description = "Script that runs the machines."
  type        = string
  default     = "../local-cluster/machine.sh"
}

variable "etcd" {
  description = "The etcd that runs on the machines: a path, or a command on PATH."
  type        = string
  default     = "../../bin/etcd-3.6"
}
