variable "nodes" {
  description = "Names of the members. Add one and apply again."
  type        = set(string)
  default     = ["a", "b", "c"]
}

variable "founders" {
  description = "Names of the nodes that form the cluster. Once they have, a change does nothing."
  type        = set(string)
  default     = ["a", "b", "c"]
}

variable "ports" {
  description = "Ports of 127.0.0.1 that the machines choose from: what the addresses of a DHCP server are to a network."
  type        = list(number)
  default     = [23850, 23851, 23852, 23853, 23854, 23855, 23856, 23857, 23858, 23859, 23860, 23861]
}

variable "registry" {
  description = "Ports of the etcd in which the founders find each other."
  type        = object({ client_port = number, peer_port = number })
  default     = { client_port = 23840, peer_port = 23841 }
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
