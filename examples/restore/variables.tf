variable "snapshot" {
  description = "Where the machines find the snapshot: a URL, or an absolute path on each of them. Without it the cluster starts empty."
  type        = string
  default     = null
}

variable "sha256" {
  description = "SHA-256 of the snapshot, as sha256sum prints it."
  type        = string
  default     = null
}

variable "replaces_cluster" {
  description = "ID of the cluster that is lost, which is the cluster_id in the state. The plan then replaces its members and their machines."
  type        = string
  default     = null
}

variable "gone" {
  description = "Names of members of that cluster that never start again."
  type        = set(string)
  default     = null
}
