variable "name" {
  description = "Name of the cluster, which begins all names. Another cluster beside it has another name."
  type        = string
  default     = "etcd"

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{0,30}$", var.name))
    error_message = "Begin the name with a small letter, and use small letters, digits and hyphens, 31 at most."
  }
}

variable "nodes" {
  description = "Port of 127.0.0.1 for the clients of each node, by its name. The next port is for its peers. A name is permanent."
  type        = map(string)

  validation {
    condition     = alltrue([for port in values(var.nodes) : try(port > 1023 && port < 65535, false)]) && length(var.nodes) > 0
    error_message = "Write a port for each node, such as a = 24010."
  }

  validation {
    condition     = length(distinct(concat(values(var.nodes), [for port in values(var.nodes) : try(tostring(port + 1), port)]))) == 2 * length(var.nodes)
    error_message = "Leave a port free after each: a node has the port that is written, and the next one."
  }
}

variable "size" {
  description = "Stands for the type of the machines. A change replaces one machine in each apply."
  type        = string
  default     = "small"
}

variable "etcd_version" {
  description = "Version of etcd. A change replaces one machine in each apply."
  type        = string

  validation {
    condition     = can(regex("^[0-9]+[.][0-9]+[.][0-9]+$", var.etcd_version))
    error_message = "Write the three numbers of a release, such as 3.6.16: each machine downloads that release."
  }
}

variable "clients" {
  description = "Names of clients that get certificates, in the output clients: those of users of etcd, if authentication is on."
  type        = set(string)
  default     = []
}

variable "gateway_clients" {
  description = "Names of clients of etcd's HTTP gateway, such as patroni, that get certificates without a common name, in the output clients. With authentication on, the gateway refuses a certificate that has one."
  type        = set(string)
  default     = []
}

variable "pki" {
  description = "Directory of this computer for the certificate of root and etcdctl.env, the variables of etcdctl. null: none."
  type        = string
  default     = null
}

variable "environment" {
  description = "More variables of etcd, such as ETCD_QUOTA_BACKEND_BYTES. A change replaces one machine in each apply."
  type        = map(string)
  default     = {}
}

variable "rebuild" {
  description = "Any text by the name of a node. Another text rebuilds that node: its machine and its member."
  type        = map(string)
  default     = {}
}

variable "restore" {
  description = "A snapshot from which the cluster is formed, or that replaces a lost cluster: restore of etcd_cluster."
  type = object({
    snapshot         = string
    sha256           = string
    replaces_cluster = optional(string)
    gone             = optional(set(string))
    revision_bump    = optional(number)
    mark_compacted   = optional(bool)
  })
  default = null
}

variable "image" {
  description = "Stands for the image of the machines. A change replaces one machine in each apply."
  type        = string
  default     = "one"
}

variable "bin" {
  description = "Where the programs etcd-3.6, etcd-3.7 and so on are. null: where make bin/etcd-3.6 puts them."
  type        = string
  default     = null
}

variable "directory" {
  description = "Where the machines are, a directory for each."
  type        = string
  default     = "machines"
}
