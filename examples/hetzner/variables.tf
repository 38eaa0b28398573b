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

variable "release" {
  description = "Archive of an etcd release for linux-amd64, and its SHA-256 in the release's SHA256SUMS. A change replaces one machine in each apply."
  type        = object({ url = string, sha256 = string })

  validation {
    condition     = strcontains(var.release.url, "linux-amd64")
    error_message = "The machines are amd64: the URL must be that of a release for linux-amd64."
  }
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
