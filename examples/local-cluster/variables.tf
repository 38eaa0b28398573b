variable "nodes" {
  description = "Voting members by name, each with two free ports of 127.0.0.1. Those of the first apply form the cluster."
  type        = map(object({ client_port = number, peer_port = number }))
  default = {
    a = { client_port = 23710, peer_port = 23711 }
    b = { client_port = 23720, peer_port = 23721 }
    c = { client_port = 23730, peer_port = 23731 }
  }
  validation {
    condition     = !contains(keys(var.nodes), "registry")
    error_message = "The machine of the discovery cluster has that name."
  }
}

variable "learners" {
  description = "Members without a vote, as nodes. With promote = true a learner is promoted."
  type        = map(object({ client_port = number, peer_port = number, promote = optional(bool, false) }))
  default     = {}
  validation {
    condition     = length(setintersection(keys(var.learners), concat(keys(var.nodes), ["registry"]))) == 0
    error_message = "A learner needs a name that no node has, and that is not registry."
  }
}

variable "registry" {
  description = "Ports of the etcd in which the initial members find each other."
  type        = object({ client_port = number, peer_port = number })
  default     = { client_port = 23700, peer_port = 23701 }
}

variable "directory" {
  description = "Where the machines are, a directory for each. The file DIRECTORY.events lists the starts and ends of their processes."
  type        = string
  default     = "machines"
}

variable "etcd" {
  description = "The etcd that runs on the machines: a path, or a command on PATH. A change replaces one machine in each apply."
  type        = string
  default     = "../../bin/etcd-3.6"
}

variable "image" {
  description = "Stands for the image of the machines. A change replaces one machine in each apply."
  type        = string
  default     = "one"
}
