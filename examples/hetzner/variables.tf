variable "image" {
  description = "Image of the machines: Debian or Ubuntu. A change replaces one machine in each apply."
  type        = string
  default     = "debian-12"
}

variable "server_type" {
  description = "Type of the machines, of the architecture x86 (amd64). A change replaces one machine in each apply."
  type        = string
  default     = "cx23"
}

variable "etcd_version" {
  description = "Version of etcd: three numbers. A change replaces one machine in each apply."
  type        = string
  default     = "3.6.16"
}

variable "location" {
  description = "Location of the machines, in the network zone eu-central."
  type        = string
  default     = "fsn1"
}

variable "admin_networks" {
  description = "Networks that reach the members from outside, such as [\"203.0.113.7/32\"]: clients of etcd, and this computer."
  type        = list(string)
}

variable "ssh_public_key" {
  description = "Public key that logs in as root."
  type        = string
}
