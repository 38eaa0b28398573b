variable "endpoints" {
  description = "Client URLs of the cluster."
  type        = list(string)
  default     = ["http://127.0.0.1:2379"]
}

variable "address_map" {
  description = "Where this machine reaches the URLs that members advertise, if they are not reachable themselves: output address_map of a module for a cloud."
  type        = map(string)
  default     = {}
}

variable "ca_cert" {
  description = "CA of the members' certificates: a path, or PEM text."
  type        = string
  default     = null
}

variable "cert" {
  description = "Client certificate: a path, or PEM text."
  type        = string
  default     = null
}

variable "key" {
  description = "Key of the client certificate: a path, or PEM text."
  type        = string
  default     = null
}

variable "directory" {
  description = "Where the backups are. It must exist. After a restore of the cluster, another one."
  type        = string
  default     = "."
}
