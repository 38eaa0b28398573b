# A cluster of virtual machines of libvirt: certificates, cluster, network, machines
# and members. Terraform runs on the computer that libvirt runs on.

terraform {
  required_version = ">= 1.11.0"
  required_providers {
    etcd    = { source = "terraform-provider-etcd/etcd" }
    libvirt = { source = "dmacvicar/libvirt", version = "~> 0.9.7" }
  }
}

locals {
  endpoints = [for address in values(var.nodes) : "https://${address}:2379"]
  gateway   = cidrhost("${values(var.nodes)[0]}/24", 1)
  mac       = { for name, address in var.nodes : name => format("52:54:00:%02x:%02x:%02x", slice(split(".", address), 1, 4)...) }
}

module "certificates" {
  source          = "../certificates"
  name            = var.name
  nodes           = { for name, address in var.nodes : name => [address] }
  clients         = var.clients
  gateway_clients = var.gateway_clients
  pki             = var.pki
  endpoints       = local.endpoints
}

# What changes machines goes through version and revision: one machine in each
# apply. That includes processors and memory, which the provider would change by
# stopping all of them.
resource "etcd_cluster" "this" {
  members                   = { for name, address in var.nodes : name => { address = address } }
  version                   = var.etcd_version
  revision                  = { image = var.image, vcpu = var.size.vcpu, memory = var.size.memory, environment = jsonencode(var.environment) }
  rebuild                   = var.rebuild
  replace_unreachable_after = "10m"
  restore                   = var.restore
}

# No addresses by DHCP: a list of them in the network would change with each node,
# and the provider replaces a network that changes, below all machines.
resource "libvirt_network" "this" {
  name      = var.name
  autostart = true
  forward   = { mode = "nat" }
  ips       = [{ address = local.gateway, netmask = "255.255.255.0" }]
}

# Each image is downloaded once, and stays for as long as a machine has it.
resource "libvirt_volume" "image" {
  for_each = toset([for node in values(etcd_cluster.this.node) : node.revision.image])
  name     = "${var.name}-image-${substr(sha256(each.key), 0, 12)}.qcow2"
  pool     = var.pool
  target   = { format = { type = "qcow2" } }
  create   = { content = { url = each.key } }
}

resource "libvirt_volume" "disk" {
  for_each      = var.nodes
  name          = "${var.name}-${each.key}.qcow2"
  pool          = var.pool
  capacity      = var.disk_size
  capacity_unit = "GiB"
  target        = { format = { type = "qcow2" } }
  backing_store = {
    path   = libvirt_volume.image[etcd_cluster.this.node[each.key].revision.image].path
    format = { type = "qcow2" }
  }

  # A rebuilt node, an empty disk. Nothing else replaces a disk, because the
  # provider would do that below a machine that runs.
  lifecycle {
    ignore_changes       = all
    replace_triggered_by = [etcd_cluster.this.node[each.key].id]
  }
}

resource "libvirt_cloudinit_disk" "seed" {
  for_each = var.nodes
  name     = "${var.name}-${each.key}"

  meta_data = yamlencode({
    instance-id    = etcd_cluster.this.node[each.key].id
    local-hostname = "${var.name}-${each.key}"
  })
  network_config = yamlencode({
    version = 2
    ethernets = {
      eth0 = {
        match       = { macaddress = local.mac[each.key] }
        set-name    = "eth0"
        addresses   = ["${each.value}/24"]
        routes      = [{ to = "0.0.0.0/0", via = local.gateway }]
        nameservers = { addresses = [local.gateway] }
      }
    }
  })
  user_data = provider::etcd::cloud_config(etcd_cluster.this.node[each.key], {
    tls         = module.certificates.tls[each.key]
    environment = jsondecode(etcd_cluster.this.node[each.key].revision.environment)
    extra       = { ssh_authorized_keys = [var.ssh_public_key] }
  })
}

# The provider keeps the seed as a file in a temporary directory and makes it again
# when it is gone (dmacvicar/terraform-provider-libvirt#1368). The copy that the
# machine has stays as it is.
resource "libvirt_volume" "seed" {
  for_each = var.nodes
  name     = "${var.name}-${each.key}-seed.iso"
  pool     = var.pool
  create   = { content = { url = libvirt_cloudinit_disk.seed[each.key].path } }

  lifecycle {
    ignore_changes       = all
    replace_triggered_by = [etcd_cluster.this.node[each.key].id]
  }
}

resource "libvirt_domain" "node" {
  for_each    = var.nodes
  name        = "${var.name}-${each.key}"
  type        = "kvm"
  vcpu        = etcd_cluster.this.node[each.key].revision.vcpu
  memory      = etcd_cluster.this.node[each.key].revision.memory
  memory_unit = "MiB"
  running     = true
  autostart   = true
  os          = { type = "hvm", type_machine = "q35" }

  # The seed is no CD-ROM: the kernel of Debian's smaller cloud images sees none.
  devices = {
    disks = [
      {
        source = { volume = { pool = var.pool, volume = libvirt_volume.disk[each.key].name } }
        target = { dev = "vda", bus = "virtio" }
        driver = { name = "qemu", type = "qcow2" }
      },
      {
        source    = { volume = { pool = var.pool, volume = libvirt_volume.seed[each.key].name } }
        target    = { dev = "vdb", bus = "virtio" }
        driver    = { name = "qemu", type = "raw" }
        read_only = true
      },
    ]
    interfaces = [{
      source = { network = { network = libvirt_network.this.name } }
      model  = { type = "virtio" }
      mac    = { address = local.mac[each.key] }
    }]
    consoles = [{ target = { type = "serial" } }] # virsh console NAME
  }

  lifecycle {
    replace_triggered_by = [etcd_cluster.this.node[each.key].id] # a rebuilt node, a new machine
  }
}

# The number of the domain (id) is another one after each start.
resource "etcd_member" "node" {
  for_each   = var.nodes
  config     = etcd_cluster.this.node[each.key]
  machine_id = libvirt_domain.node[each.key].uuid
}

data "etcd_cluster" "this" {
  endpoints  = etcd_cluster.this.endpoints
  depends_on = [etcd_member.node]
}

check "etcd" {
  assert {
    condition     = data.etcd_cluster.this.healthy
    error_message = join("\n", data.etcd_cluster.this.advice)
  }
}
