# Stands for a virtual machine: a directory in which machine.sh runs a real
# etcd. With real machines, put your own resource here.

variable "name" {
  type = string
}

variable "config" {
  description = "The member's etcd_member_config."
  type = object({
    id                     = string
    environment            = map(string)
    join_script_base64gzip = string
  })
}

variable "etcd" {
  description = "The etcd that runs on the machine: a path, or a command on PATH."
  type        = string
}

variable "directory" {
  description = "Where the machines are, a directory for each."
  type        = string
  default     = "machines"
}

resource "terraform_data" "machine" {
  triggers_replace = var.config.id # other user data, another machine

  # A provisioner that runs at destroy sees nothing but this.
  input = {
    script    = abspath("${path.module}/../local-cluster/machine.sh")
    directory = "${abspath(var.directory)}/${var.name}"
  }

  provisioner "local-exec" {
    command = "sh \"${self.input.script}\" new \"${self.input.directory}\""
    environment = {
      no_proxy     = "*" # everything is on this computer
      ETCD_BIN     = var.etcd
      MACHINE_ENV  = join("\n", [for key, value in var.config.environment : "${key}=${value}"])
      MACHINE_JOIN = var.config.join_script_base64gzip
    }
  }

  provisioner "local-exec" {
    when    = destroy
    command = "sh \"${self.input.script}\" down \"${self.input.directory}\""
  }
}

output "id" {
  description = "For machine_id of the member."
  value       = terraform_data.machine.id
}
