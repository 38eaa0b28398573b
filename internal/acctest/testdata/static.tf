# The first cluster there is: no registry.

variable "complete" {
  type = bool
}

# Peer URLs by name; they stay what they were at the beginning.
variable "initial_cluster" {
  type = map(string)
}

locals {
  bootstrap = {
    kind     = "static"
    protocol = "static"
    token    = "acctest"
    founders = var.founders
    size     = length(var.founders)
    complete = var.complete
    environment = {
      ETCD_INITIAL_CLUSTER_TOKEN = "acctest"
      ETCD_INITIAL_CLUSTER       = join(",", [for name, url in var.initial_cluster : "${name}=${url}"])
    }
  }
}
