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

variable "release" {
  description = "Archive of an etcd release for linux-amd64, and its SHA-256 in the release's SHA256SUMS. A change replaces one machine in each apply."
  type        = object({ url = string, sha256 = string })

  validation {
    condition     = strcontains(var.release.url, "linux-amd64")
    error_message = "The machines are amd64: the URL must be that of a release for linux-amd64."
  }
}

variable "pool" {
  description = "Storage pool of the disks."
  type        = string
  default     = "default"
}

variable "ssh_public_key" {
  description = "Public key of who may log in as the image's user, such as debian."
  type        = string
}
