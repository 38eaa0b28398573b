variable "nodes" {
  description = "Members by name, each with the ports of 127.0.0.1 that are its own."
  type        = map(object({ client_port = number, peer_port = number }))
  default = {
    d = { client_port = 23740, peer_port = 23741 }
    e = { client_port = 23750, peer_port = 23751 }
  }
}

variable "endpoints" {
  description = "Client URLs of the cluster that the groups are added to. By default that of ../local-cluster."
  type        = list(string)
  default     = ["http://127.0.0.1:23710", "http://127.0.0.1:23720", "http://127.0.0.1:23730"]
}

variable "directory" {
  description = "Where the machines are, a directory for each."
  type        = string
  default     = "machines"
}

variable "machine_sh" {
  description = "What runs the machines."
  type        = string
  default     = "../local-cluster/machine.sh"
}

variable "etcd" {
  description = "The etcd that runs on the machines. A path, or a command on PATH."
  type        = string
  default     = "../../bin/etcd-3.6"
}
