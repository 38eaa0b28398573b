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
  description = "Private address of each node by its name, all in one network of 256 addresses. A name is permanent."
  type        = map(string)

  validation {
    condition     = alltrue([for address in values(var.nodes) : can(cidrnetmask("${address}/32"))]) && length(var.nodes) > 0
    error_message = "Write an IPv4 address for each node, such as a = \"10.0.1.10\"."
  }

  validation {
    condition     = length(distinct(values(var.nodes))) == length(var.nodes) && length(distinct([for address in values(var.nodes) : try(cidrsubnet("${address}/24", 0, 0), address)])) <= 1
    error_message = "Give each node another address, and let all begin with the same three numbers, such as 10.0.1: they are in one subnet."
  }

  validation {
    condition     = length(var.nodes) < 10
    error_message = "Write nine nodes at most: a placement group of Hetzner Cloud has ten places."
  }
}

variable "size" {
  description = "Type of the machines. A change replaces one machine in each apply."
  type        = string
  default     = "cx23"
}

variable "etcd_version" {
  description = "Version of etcd. A change replaces one machine in each apply."
  type        = string

  validation {
    condition     = can(regex("^[0-9]+[.][0-9]+[.][0-9]+$", var.etcd_version))
    error_message = "Write the three numbers of a release, such as 3.6.16: each machine downloads that release."
  }
}

variable "admin_networks" {
  description = "Networks that reach port 2379, for clients and Terraform, and port 22 of the members: this computer."
  type        = list(string)

  validation {
    condition     = alltrue([for network in var.admin_networks : can(cidrnetmask(network))]) && length(var.admin_networks) > 0
    error_message = "Write one network or more, each with its length, such as that of one address: ADDRESS/32."
  }

  validation {
    condition     = !anytrue([for network in var.admin_networks : can(regex("^(192[.]0[.]2|198[.]51[.]100|203[.]0[.]113)[.]", network))])
    error_message = "No computer has an address of 192.0.2.0/24, 198.51.100.0/24 or 203.0.113.0/24: these are for documentation. Write that of the computer that runs Terraform, as curl -4 https://ifconfig.me prints it, with /32."
  }
}

variable "client_networks" {
  description = "Networks that reach port 2379 alone, in addition to admin_networks: what uses the public addresses. The private network is not filtered."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for network in var.client_networks : can(cidrnetmask(network))])
    error_message = "Write each network with its length, such as 10.0.0.0/16."
  }
}

variable "ssh_public_key" {
  description = "Public key that logs in as root."
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
  description = "Image of the machines: Debian or Ubuntu. A change replaces one machine in each apply."
  type        = string
  default     = "debian-12"
}

variable "location" {
  description = "Location of the machines."
  type        = string
  default     = "fsn1"
}

variable "network_zone" {
  description = "Network zone of the location."
  type        = string
  default     = "eu-central"
}
