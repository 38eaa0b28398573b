variable "region" {
  description = "Region of the machines. Its zones a, b and c are used."
  type        = string
  default     = "eu-central-1"
}

variable "instance_type" {
  description = "Type of the machines, of the architecture arm64. A change replaces one machine in each apply."
  type        = string
  default     = "t4g.small"
}

variable "release" {
  description = "Archive of an etcd release for linux-arm64, and its SHA-256 in the release's SHA256SUMS. A change replaces one machine in each apply."
  type        = object({ url = string, sha256 = string })

  validation {
    condition     = strcontains(var.release.url, "linux-arm64")
    error_message = "The machines are arm64: the URL must be that of a release for linux-arm64."
  }
}

variable "admin_networks" {
  description = "Networks that reach the members from outside, such as [\"203.0.113.7/32\"]: clients of etcd, and this computer."
  type        = list(string)
}

variable "ssh_public_key" {
  description = "Public key of who may log in as admin."
  type        = string
}
