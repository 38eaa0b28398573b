variable "nodes" {
  description = "The members by name, each with the ports of 127.0.0.1 that are its own. Those of the first apply form the cluster."
  type        = map(object({ client_port = number, peer_port = number }))
  default = {
    a = { client_port = 23901, peer_port = 23902 }
    b = { client_port = 23903, peer_port = 23904 }
    c = { client_port = 23905, peer_port = 23906 }
  }
}

variable "registry_port" {
  description = "Client port of the discovery cluster on 127.0.0.1. The next one is its peer port."
  type        = number
  default     = 23800
}

variable "cluster" {
  description = "User of the discovery cluster for the machines of this cluster."
  type        = string
  default     = "cluster-one"
}

variable "cluster_password" {
  description = "Password of that user."
  type        = string
  default     = "join"
}

variable "discovery_password" {
  description = "Password of the user discovery, with which Terraform creates tokens."
  type        = string
  default     = "register"
}

variable "root_password" {
  description = "Password of root in the discovery cluster."
  type        = string
  default     = "all"
}

variable "etcd" {
  description = "The etcd that runs: a path, or a command on PATH."
  type        = string
  default     = "../../bin/etcd-3.6"
}

variable "etcdctl" {
  description = "The etcdctl that creates users and roles."
  type        = string
  default     = "../../bin/etcdctl-3.6"
}

variable "directory" {
  description = "Where the machines are, a directory for each."
  type        = string
  default     = "machines"
}
