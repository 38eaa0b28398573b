variable "image" {
  description = "Cloud image of Debian or Ubuntu for amd64 in the format qcow2: a URL or an absolute path. A change replaces one machine in each apply."
  type        = string
  default     = "https://cloud.debian.org/images/cloud/bookworm/latest/debian-12-genericcloud-amd64.qcow2"
}

variable "vcpu" {
  description = "Processors of a machine. A change replaces one machine in each apply."
  type        = number
  default     = 2
}

variable "memory" {
  description = "Memory of a machine in MiB. A change replaces one machine in each apply."
  type        = number
  default     = 2048
}

variable "etcd_version" {
  description = "Version of etcd: three numbers. A change replaces one machine in each apply."
  type        = string
  default     = "3.6.16"
}

variable "pool" {
  description = "Storage pool of the disks."
  type        = string
  default     = "default"
}

variable "ssh_public_key" {
  description = "Public key that logs in as the image's user, such as debian."
  type        = string
}

variable "rebuild" {
  description = "Any text by the name of a node. Another text rebuilds that node: its disk, its machine and its member."
  type        = map(string)
  default     = {}
}
