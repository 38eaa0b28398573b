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

variable "gateway_clients" {
  description = "Names of clients of etcd's HTTP gateway, such as patroni, that get certificates without a common name, in the output clients. With authentication on, the gateway refuses a certificate that has one."
  type        = set(string)
  default     = []

  validation {
    condition     = !contains(var.gateway_clients, "root")
    error_message = "root needs its common name: write another name."
  }
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
