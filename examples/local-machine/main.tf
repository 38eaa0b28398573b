# Stands for a virtual machine: a directory in which machine.sh runs a real
# etcd. With real machines, put your own resource here.

variable "name" {
  type = string
}

variable "image" {
  description = "Another image recreates the machine, as with a virtual machine."
  type        = string
  default     = null
}

variable "user_data" {
  description = "User data by cloud_config. The machine uses its environment, its join script and its certificates. A change recreates the machine."
  type        = string
  default     = null
}

variable "config" {
  description = "The node, for a machine without user data. Another ID recreates the machine."
  type = object({
    id                     = string
    environment            = map(string)
    join_script_base64gzip = string
  })
  default = null
}

variable "files" {
  description = "Files of the image, by path below /etc/etcd."
  type        = map(string)
  default     = {}
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

locals {
  directory = "${abspath(var.directory)}/${var.name}"

  # What cloud-init writes. The directories of the machine are in its directory.
  written = { for f in try(yamldecode(var.user_data).write_files, []) : f.path => f.content }
  file    = replace(try(local.written["/etc/etcd/etcd.env"], ""), "/etc/etcd/", "${local.directory}/etc/etcd/")
  moved   = replace(replace(local.file, "/var/lib/etcd", "${local.directory}/data"), "/usr/local/bin", "${local.directory}/bin")
}

resource "terraform_data" "machine" {
  triggers_replace = [try(var.config.id, null), var.image, try(sha256(var.user_data), null)]

  # A provisioner that runs at destroy sees nothing but this.
  input = {
    script    = abspath("${path.module}/../local-cluster/machine.sh")
    directory = local.directory
  }

  provisioner "local-exec" {
    command = "sh \"${self.input.script}\" new \"${self.input.directory}\""
    environment = {
      no_proxy      = "*" # everything is on this computer
      ETCD_BIN      = var.etcd
      MACHINE_ENV   = var.config == null ? local.moved : join("\n", [for key, value in var.config.environment : "${key}=${value}"])
      MACHINE_JOIN  = var.config == null ? local.written["/usr/local/bin/etcd-join"] : var.config.join_script_base64gzip
      MACHINE_FILES = join("\n", [for path, content in merge(local.written, var.files) : "${path} ${base64encode(content)}" if startswith(path, "/etc/etcd/") && path != "/etc/etcd/etcd.env"])
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
