# A cluster with TLS on hosts that exist, reached over SSH. What cloud-init writes to a
# new machine, a provisioner writes to a host. See README.md.

terraform {
  required_version = ">= 1.11.0"
  required_providers {
    etcd = { source = "terraform-provider-etcd/etcd" }
    tls  = { source = "hashicorp/tls", version = "~> 4.2, != 4.2.0" } # 4.2.0 replaces certificates
  }
}

provider "etcd" {
  ca_cert = local.ca
  cert    = local.certificates["root"]
  key     = local.keys["root"]
}

# What changes a member goes through version and revision: one host in each apply.
resource "etcd_cluster" "this" {
  members                   = { for name, host in var.hosts : name => { address = host.address } }
  version                   = var.etcd_version
  revision                  = { environment = jsonencode(var.environment) }
  replace_unreachable_after = var.replace_unreachable_after
  restore                   = var.restore
}

locals {
  # Each version of etcd has a directory of its own, so no program that runs is overwritten.
  programs = { for name, _ in var.hosts : name => "/opt/etcd-${etcd_cluster.this.node[name].version}" }

  # The lines that host.sh reads.
  files = { for name, _ in var.hosts : name => [
    for f in yamldecode(provider::etcd::cloud_config(etcd_cluster.this.node[name], {
      etcd        = { path = local.programs[name] }
      tls         = { ca = local.ca, cert = local.certificates[name], key = local.keys[name] }
      environment = jsondecode(etcd_cluster.this.node[name].revision.environment)
    })).write_files :
    join(" ", [
      f.path, try(f.permissions, "0644"), try(f.owner, "root:root"),
      try(f.encoding, "") == "gz+b64" ? "gunzip ${f.content}" : "cat ${base64encode(f.content)}",
    ])
  ] }
}

# Stands for the machine of a member: it is made again when the node is rebuilt.
resource "terraform_data" "host" {
  for_each         = var.hosts
  triggers_replace = etcd_cluster.this.node[each.key].id

  # A provisioner that runs at destroy sees nothing but this. The state has it, so it is
  # without secrets.
  input = merge(each.value, { user = var.ssh_user, key_file = var.ssh_key_file })

  connection {
    type        = "ssh"
    host        = self.input.address
    host_key    = self.input.host_key # no other host gets the private key of the member
    user        = self.input.user
    private_key = self.input.key_file == null ? null : file(pathexpand(self.input.key_file))
    agent       = self.input.key_file == null
    timeout     = "2m"
    script_path = ".ssh/etcd-%RAND%.sh" # Terraform lets all users write it, and nobody else is there
  }

  provisioner "remote-exec" {
    inline = ["rm -rf etcd-host", "mkdir -m 0700 etcd-host"]
  }
  provisioner "file" {
    source      = "${path.module}/host.sh"
    destination = "etcd-host/host.sh"
  }
  provisioner "file" { # a command line would show its private key to other users of the host
    content     = join("\n", concat(local.files[each.key], [""]))
    destination = "etcd-host/files"
  }
  provisioner "remote-exec" {
    inline = ["sh etcd-host/host.sh up ${join(" ", concat(
      [local.programs[each.key], "${var.releases}/v${etcd_cluster.this.node[each.key].version}"],
      [etcd_cluster.this.node[each.key].id], coalesce(jsondecode(etcd_cluster.this.node[each.key].start).replaces, []),
    ))}"]
  }

  # The member has left the cluster before. A host that is gone, or was installed again and
  # has another key, does not hold up its removal: what still runs there waits as a removed
  # member, and the next "up" knows its data.
  provisioner "remote-exec" {
    when       = destroy
    on_failure = continue
    inline     = ["sh /usr/local/sbin/etcd-host down ${self.triggers_replace}"]
    connection {
      timeout = "30s"
    }
  }
}

resource "etcd_member" "node" {
  for_each   = var.hosts
  config     = etcd_cluster.this.node[each.key]
  machine_id = terraform_data.host[each.key].id # the member is removed before etcd is stopped
}

# Brings a renewed certificate to a host. etcd reads it without a restart, so no member is
# replaced.
resource "terraform_data" "certificate" {
  for_each         = var.hosts
  triggers_replace = [local.ca, local.certificates[each.key]]
  depends_on       = [terraform_data.host] # which brings the first ones

  connection {
    type        = "ssh"
    host        = each.value.address
    host_key    = each.value.host_key
    user        = var.ssh_user
    private_key = var.ssh_key_file == null ? null : file(pathexpand(var.ssh_key_file))
    agent       = var.ssh_key_file == null
    timeout     = "2m"
    script_path = ".ssh/etcd-%RAND%.sh"
  }

  provisioner "remote-exec" {
    inline = ["rm -rf etcd-host", "mkdir -m 0700 etcd-host"]
  }
  provisioner "file" {
    content     = join("\n", [for line in concat(local.files[each.key], [""]) : line if line == "" || startswith(line, "/etc/etcd/tls/")])
    destination = "etcd-host/files"
  }
  provisioner "remote-exec" {
    inline = ["sh /usr/local/sbin/etcd-host certificates etcd-host/files"]
  }
}
