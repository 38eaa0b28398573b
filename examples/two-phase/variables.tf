variable "endpoints" {
  description = "Client URLs of the cluster that the node is added to. By default that of ../local-cluster."
  type        = list(string)
  default     = ["http://127.0.0.1:23710", "http://127.0.0.1:23720", "http://127.0.0.1:23730"]
}

variable "client_port" {
  description = "Port of 127.0.0.1 for the clients of the new node."
  type        = number
  default     = 23740
}

variable "peer_port" {
  description = "Port of 127.0.0.1 for the peers of the new node."
  type        = number
  default     = 23741
}

variable "directory" {
  description = "Directory of the machine."
  type        = string
  default     = "machines"
}

variable "machine_sh" {
  description = "Script that runs the machine."
  type        = string
  default     = "../local-cluster/machine.sh"
}

variable "etcd" {
  description = "The etcd that runs on the machine: a path, or a command on PATH."
  type        = string
  default     = "../../bin/etcd-3.6"
}
