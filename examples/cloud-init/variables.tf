variable "nodes" {
  description = "Members by name, each with its machine's address. The members of the first apply form the cluster, and later ones join it."
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

variable "release" {
  description = "Version of etcd, and its archive for the machines' platform on a server of yours, with the archive's SHA-256. A change replaces one machine in each apply."
  type        = object({ version = string, url = string, sha256 = string })
  default = {
    version = "3.6.16"
    url     = "https://releases.example.com/etcd-v3.6.16-linux-amd64.tar.gz"
    sha256  = "0000000000000000000000000000000000000000000000000000000000000000"
  }
}

variable "pki" {
  description = "Directory on the machines with ca.pem, server.pem and server-key.pem."
  type        = string
  default     = "/etc/etcd/pki"
}
