variable "endpoints" {
  description = "Client URLs of the cluster."
  type        = list(string)
  default     = ["http://127.0.0.1:2379"]
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
  description = "Where the backups are. It must exist."
  type        = string
  default     = "."
}
