variable "cluster_id" {
  description = "ID of the cluster in hexadecimal, as etcdctl member list -w fields --hex prints it."
  type        = string
}

variable "nodes" {
  description = "The members by name, with their URLs as etcdctl member list prints them."
  type        = map(object({ client_url = string, peer_url = string }))
  default = {
    a = { client_url = "http://127.0.0.1:23710", peer_url = "http://127.0.0.1:23711" }
    b = { client_url = "http://127.0.0.1:23720", peer_url = "http://127.0.0.1:23721" }
    c = { client_url = "http://127.0.0.1:23730", peer_url = "http://127.0.0.1:23731" }
  }
}

variable "etcd_version" {
  description = "Version of etcd that the members run."
  type        = string
  default     = "3.6.16"
}

variable "rebuild" {
  description = "Any text by the name of a node. Another text rebuilds that node on a new machine, one in each apply."
  type        = map(string)
  default     = {}
}

variable "etcd" {
  description = "The etcd on the machines: a path, or a command on PATH."
  type        = string
  default     = "../../bin/etcd-3.6"
}
