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
  description = "Address of each node by its name, all in one network of 256 addresses that no other network of this computer has. A name is permanent."
  type        = map(string)

  validation {
    condition     = alltrue([for address in values(var.nodes) : can(cidrnetmask("${address}/32"))]) && length(var.nodes) > 0
    error_message = "Write an IPv4 address for each node, such as a = \"10.17.3.10\"."
  }

  validation {
    condition     = length(distinct(values(var.nodes))) == length(var.nodes) && length(distinct([for address in values(var.nodes) : try(cidrsubnet("${address}/24", 0, 0), address)])) <= 1
    error_message = "Give each node another address, and let all begin with the same three numbers, such as 10.17.3: they are in one network."
  }

  validation {
    condition     = alltrue([for address in values(var.nodes) : try(split(".", address)[3] > 1 && split(".", address)[3] < 255, true)])
    error_message = "Let no address end with 0, 1 or 255: 1 is this computer."
  }
}

variable "size" {
  description = "Processors of a machine, and its memory in MiB. A change replaces one machine in each apply."
  type        = object({ vcpu = number, memory = number })
  default     = { vcpu = 2, memory = 2048 }
}

variable "etcd_version" {
  description = "Version of etcd. A change replaces one machine in each apply."
  type        = string

  validation {
    condition     = can(regex("^[0-9]+[.][0-9]+[.][0-9]+$", var.etcd_version))
    error_message = "Write the three numbers of a release, such as 3.6.16: each machine downloads that release."
  }
}

variable "ssh_public_key" {
  description = "Public key that logs in as the image's user, such as debian."
  type        = string

  validation {
    condition     = can(regex("^(ssh|ecdsa|sk)-[^ ]+ [A-Za-z0-9+/]", var.ssh_public_key))
    error_message = "Write the line of a file .pub, such as file(\"~/.ssh/id_ed25519.pub\"), never a private key."
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
  description = "Any text by the name of a node. Another text rebuilds that node: its disk, its machine and its member."
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
  description = "Cloud image of Debian or Ubuntu for amd64 in the format qcow2: a URL or an absolute path. A change replaces one machine in each apply."
  type        = string
  default     = "https://cloud.debian.org/images/cloud/bookworm/latest/debian-12-genericcloud-amd64.qcow2"
}

variable "pool" {
  description = "Storage pool of the disks."
  type        = string
  default     = "default"
}

variable "disk_size" {
  description = "Size of each disk in GiB. A change is for new disks."
  type        = number
  default     = 20
}
