variable "nodes" {
  description = "The members by name, each with two free ports of 127.0.0.1."
  type        = map(object({ client_port = number, peer_port = number }))
  default = {
    a = { client_port = 24010, peer_port = 24011 }
    b = { client_port = 24020, peer_port = 24021 }
    c = { client_port = 24030, peer_port = 24031 }
  }
}

variable "etcd_version" {
  description = "Version of etcd on all machines."
  type        = string
  default     = "3.6.16"
}

variable "image" {
  description = "Stands for the image of the machines."
  type        = string
  default     = "one"
}

variable "etcd" {
  description = "The etcd programs by version. Each is a path, or a command on PATH."
  type        = map(string)
  default     = { "3.6.16" = "../../bin/etcd-3.6", "3.7.3" = "../../bin/etcd-3.7" }
}

variable "directory" {
  description = "Where the machines are, a directory for each."
  type        = string
  default     = "machines"
}
