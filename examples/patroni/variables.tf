variable "nodes" {
  description = "Addresses of the members of etcd by name. DNS names work too, and can outlive a machine."
  type        = map(string)
  default     = { a = "10.0.1.10", b = "10.0.1.11", c = "10.0.1.12" }
}

variable "databases" {
  description = "Addresses of the machines with PostgreSQL and Patroni by name."
  type        = map(string)
  default     = { db1 = "10.0.1.20", db2 = "10.0.1.21" }
}

variable "etcd_version" {
  description = "Version of etcd. A change replaces one machine in each apply."
  type        = string
  default     = "3.6.16"
}

variable "passwords" {
  description = "Passwords of PostgreSQL's user for replication, and of Patroni's REST API."
  type        = object({ replication = string, restapi = string })
  sensitive   = true
}
