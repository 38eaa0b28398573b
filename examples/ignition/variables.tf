variable "nodes" {
  description = "Members by name, each with its machine's address."
  type = map(object({
    address     = string
    client_port = optional(number, 2379)
    peer_port   = optional(number, 2380)
  }))
  default = {
    a = { address = "10.0.1.10" }
    b = { address = "10.0.1.11" }
    c = { address = "10.0.1.12" }
  }
}

variable "founders" {
  description = "Who forms the cluster. It stays as it is when nodes come and go."
  type        = set(string)
  default     = ["a", "b", "c"]
}

variable "registry" {
  description = "Client URLs of the etcd in which the founders meet; see ../registry."
  type        = list(string)
  default     = ["https://registry.example.com:2379"]
}

variable "pki" {
  description = "Directory on the machines with ca.pem, server.pem and server-key.pem."
  type        = string
  default     = "/etc/etcd/pki"
}

variable "archive" {
  description = "A release of etcd for the machines' platform, and its SHA-256 as the release's SHA256SUMS says. A change goes through the machines one at a time, one in each apply."
  type        = object({ url = string, sha256 = string })
  default = {
    url    = "https://releases.example.com/etcd-linux-amd64.tar.gz"
    sha256 = "0000000000000000000000000000000000000000000000000000000000000000"
  }
}
