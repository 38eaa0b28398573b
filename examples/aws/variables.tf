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

variable "etcd_version" {
  description = "Version of etcd: three numbers. A change replaces one machine in each apply."
  type        = string
  default     = "3.6.16"
}

variable "admin_networks" {
  description = "Networks that reach the members from outside, such as [\"203.0.113.7/32\"]: clients of etcd, and this computer."
  type        = list(string)
}

variable "ssh_public_key" {
  description = "Public key that logs in as admin."
  type        = string
}
