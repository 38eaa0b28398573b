variable "image" {
  description = "Image of the machines: Debian or Ubuntu. A change replaces one machine in each apply."
  type        = string
  default     = "debian-12"
}

variable "release" {
  description = "Archive of an etcd release for linux-amd64, and its SHA-256 in the release's SHA256SUMS. A change replaces one machine in each apply."
  type        = object({ url = string, sha256 = string })
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
  description = "Public key of who may log in as root."
  type        = string
}
