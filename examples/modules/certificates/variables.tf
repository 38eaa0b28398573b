variable "name" {
  description = "Name of the authority."
  type        = string
}

variable "nodes" {
  description = "IP addresses of each machine by the name of its node: all at which clients and other members reach it."
  type        = map(list(string))
}

variable "clients" {
  description = "Names of clients that get certificates: those of users of etcd, if authentication is on."
  type        = set(string)
  default     = []
}

variable "pki" {
  description = "Directory of this computer for the certificate of root and etcdctl.env, the variables of etcdctl. null: none."
  type        = string
  default     = null
}

variable "endpoints" {
  description = "For etcdctl.env."
  type        = list(string)
  default     = []
}
