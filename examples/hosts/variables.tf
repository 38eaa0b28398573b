variable "hosts" {
  description = "The members by name: the IP address of each host, for SSH and for etcd, and its host key."
  type        = map(object({ address = string, host_key = string }))
  validation {
    condition     = alltrue([for host in var.hosts : can(regex("^(ecdsa|ssh)-\\S+ AAAA\\S+", host.host_key))])
    error_message = "host_key is the text of /etc/ssh/ssh_host_ecdsa_key.pub of the host. Without it Terraform trusts any host."
  }
}

variable "ssh_user" {
  description = "User that logs in: root, or one with sudo that asks for no password."
  type        = string
  default     = "root"
}

variable "ssh_key_file" {
  description = "Private key that logs in, without a passphrase. null: the SSH agent, which the hosts can use while Terraform is logged in."
  type        = string
  default     = null
}

variable "etcd_version" {
  description = "Version of etcd: three numbers. A change goes through one host in each apply."
  type        = string
  default     = "3.6.16"
}

variable "releases" {
  description = "Where the hosts download etcd: the releases of GitHub, or a mirror of them."
  type        = string
  default     = "https://github.com/etcd-io/etcd/releases/download"
}

variable "environment" {
  description = "More ETCD_* variables, such as { ETCD_QUOTA_BACKEND_BYTES = \"8589934592\" }. A change goes through one host in each apply."
  type        = map(string)
  default     = {}
}

variable "replace_unreachable_after" {
  description = "Time after which a plan rebuilds a member that is unreachable, such as 30m. Its host must answer SSH then, so null is better for hosts that fail as a whole."
  type        = string
  default     = null
}

variable "restore" {
  description = "A snapshot from which the cluster is formed, or that replaces a lost cluster: restore of etcd_cluster. A path is one on every host, where the user etcd can read it."
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
