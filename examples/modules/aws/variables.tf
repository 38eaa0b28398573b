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
  description = "Private address of each node by its name. Each has a subnet of its own, the 256 addresses around it, whose third number says the zone: see zones. A name is permanent."
  type        = map(string)

  validation {
    condition     = alltrue([for address in values(var.nodes) : can(cidrnetmask("${address}/32"))]) && length(var.nodes) > 0
    error_message = "Write an IPv4 address for each node, such as a = \"10.0.1.10\"."
  }

  validation {
    condition     = length(distinct([for address in values(var.nodes) : try(cidrsubnet("${address}/24", 0, 0), address)])) == length(var.nodes)
    error_message = "Give each node another third number, such as 10.0.1.10 and 10.0.2.10: it has a subnet of its own, which a change of the others never touches."
  }

  validation {
    condition     = length(distinct([for address in values(var.nodes) : try(cidrsubnet("${address}/16", 0, 0), address)])) <= 1
    error_message = "Let all addresses begin with the same two numbers, such as 10.0: they are in one VPC."
  }

  validation {
    condition     = alltrue([for address in values(var.nodes) : try(split(".", address)[3] > 3 && split(".", address)[3] < 255, true)])
    error_message = "Let no address end with 0 to 3 or 255: EC2 has the first four addresses and the last one of a subnet."
  }
}

variable "size" {
  description = "Type of the machines, of the architecture in architecture. A change replaces one machine in each apply."
  type        = string
  default     = "t4g.small"
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
  description = "Networks that reach port 2379 alone, in addition to admin_networks: the VPC or a part of it, such as 10.0.0.0/16, and what uses the public addresses."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for network in var.client_networks : can(cidrnetmask(network))])
    error_message = "Write each network with its length, such as 10.0.0.0/16."
  }
}

variable "ssh_public_key" {
  description = "Public key that logs in as admin."
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

variable "zones" {
  description = "Letters of the region's zones. Nodes with the third number 1 are in the first zone, those with 2 in the second, and so on, again and again."
  type        = list(string)
  default     = ["a", "b", "c"]
}

variable "image" {
  description = "ID of the AMI of the machines: Debian or Ubuntu, of the architecture of size. A change replaces one machine in each apply. null: the newest Debian 12 at each plan, so a new AMI replaces machines too."
  type        = string
  default     = null

  validation {
    condition     = var.image == null || can(regex("^ami-[0-9a-f]+$", var.image))
    error_message = "Write the ID of an AMI, such as ami-0123456789abcdef0."
  }
}

variable "architecture" {
  description = "Architecture of size, and of the newest Debian: arm64 or amd64."
  type        = string
  default     = "arm64"
}

variable "disk_size" {
  description = "Size of each disk in GiB."
  type        = number
  default     = 20
}
