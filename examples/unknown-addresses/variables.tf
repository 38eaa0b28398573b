variable "nodes" {
  description = "Names of the members. Those of the first apply form the cluster, and later ones join it."
  type        = set(string)
  default     = ["a", "b", "c"]
}

variable "contacts" {
  description = "Names of the members at whose addresses the others are added. One that responds is enough. With all names, a new member would change the endpoints of each other one."
  type        = set(string)
  default     = ["a", "b", "c"]
}

variable "ports" {
  description = "Ports of 127.0.0.1 that the machines choose from, like addresses of a DHCP server."
  type        = list(number)
  default     = [23850, 23851, 23852, 23853, 23854, 23855, 23856, 23857, 23858, 23859, 23860, 23861]
}

variable "registry" {
  description = "Ports of the discovery cluster, in which the initial members find each other."
  type        = object({ client_port = number, peer_port = number })
  default     = { client_port = 23840, peer_port = 23841 }
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
