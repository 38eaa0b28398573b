variable "nodes" {
  description = "Members with a vote, by name, each with the ports of 127.0.0.1 that are its own."
  type        = map(object({ client_port = number, peer_port = number }))
  default = {
    a = { client_port = 23710, peer_port = 23711 }
    b = { client_port = 23720, peer_port = 23721 }
    c = { client_port = 23730, peer_port = 23731 }
  }
  validation {
    condition     = !contains(keys(var.nodes), "registry")
    error_message = "The registry's machine bears that name."
  }
}

variable "founders" {
  description = "Names of the nodes that form the cluster. Once they have, a change does nothing."
  type        = set(string)
  default     = ["a", "b", "c"]
}

variable "learners" {
  description = "Members without a vote, as nodes; promote = true gives one its vote."
  type        = map(object({ client_port = number, peer_port = number, promote = optional(bool, false) }))
  default     = {}
  validation {
    condition     = length(setintersection(keys(var.learners), concat(keys(var.nodes), ["registry"]))) == 0
    error_message = "A learner needs a name that no node and not the registry's machine has."
  }
}

variable "registry" {
  description = "Ports of the etcd in which the founders find each other."
  type        = object({ client_port = number, peer_port = number })
  default     = { client_port = 23700, peer_port = 23701 }
}

variable "directory" {
  description = "Where the machines are, a directory for each. What starts and ends there is told in a file beside it, named DIRECTORY.events."
  type        = string
  default     = "machines"
}

variable "etcd" {
  description = "The etcd that runs on the machines. A path, or a command on PATH."
  type        = string
  default     = "../../bin/etcd-3.6"
}
