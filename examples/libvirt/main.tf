# Three members as virtual machines of libvirt, from nothing to a cluster with TLS
# in one apply. Terraform runs on the computer that libvirt runs on.

terraform {
  required_version = ">= 1.11.0"
  required_providers {
    etcd    = { source = "terraform-provider-etcd/etcd" }
    libvirt = { source = "dmacvicar/libvirt", version = "~> 0.9.7" }
    tls     = { source = "hashicorp/tls", version = "~> 4.2, != 4.2.0" } # 4.2.0 replaces certificates
  }
}

provider "libvirt" {
  uri = "qemu:///system"
}

locals {
  nodes = { a = "10.17.3.10", b = "10.17.3.11", c = "10.17.3.12" }
}

provider "etcd" {
  ca_cert = tls_self_signed_cert.ca.cert_pem
  cert    = tls_locally_signed_cert.root.cert_pem
  key     = tls_private_key.root.private_key_pem
}

# What changes machines goes through version and revision: one machine in each
# apply. That includes processors and memory, which the provider would change by
# stopping all of them.
resource "etcd_cluster" "this" {
  members                   = { for name, address in local.nodes : name => { address = address } }
  version                   = var.etcd_version
  revision                  = { image = var.image, vcpu = var.vcpu, memory = var.memory }
  rebuild                   = var.rebuild
  replace_unreachable_after = "10m"
}

# No addresses by DHCP: a list of them in the network would change with each node,
# and the provider replaces a network that changes, below all machines.
resource "libvirt_network" "this" {
  name      = "etcd"
  autostart = true
  forward   = { mode = "nat" }
  ips       = [{ address = "10.17.3.1", netmask = "255.255.255.0" }]
}

# Each image is downloaded once, and stays for as long as a machine has it.
resource "libvirt_volume" "image" {
  for_each = toset([for node in values(etcd_cluster.this.node) : node.revision.image])
  name     = "etcd-image-${substr(sha256(each.key), 0, 12)}.qcow2"
  pool     = var.pool
  target   = { format = { type = "qcow2" } }
  create   = { content = { url = each.key } }
}

resource "libvirt_volume" "disk" {
  for_each      = local.nodes
  name          = "etcd-${each.key}.qcow2"
  pool          = var.pool
  capacity      = 20
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

locals {
  mac = { for name, address in local.nodes : name => format("52:54:00:11:03:%02x", split(".", address)[3]) }
}

resource "libvirt_cloudinit_disk" "seed" {
  for_each = local.nodes
  name     = "etcd-${each.key}"

  meta_data = yamlencode({
    instance-id    = etcd_cluster.this.node[each.key].id
    local-hostname = "etcd-${each.key}"
  })
  network_config = yamlencode({
    version = 2
    ethernets = {
      eth0 = {
        match       = { macaddress = local.mac[each.key] }
        set-name    = "eth0"
        addresses   = ["${each.value}/24"]
        routes      = [{ to = "0.0.0.0/0", via = "10.17.3.1" }]
        nameservers = { addresses = ["10.17.3.1"] }
      }
    }
  })
  user_data = provider::etcd::cloud_config(etcd_cluster.this.node[each.key], {
    tls = {
      ca   = tls_self_signed_cert.ca.cert_pem
      cert = tls_locally_signed_cert.node[each.key].cert_pem
      key  = tls_private_key.node[each.key].private_key_pem
    }
    extra = { ssh_authorized_keys = [var.ssh_public_key] }
  })
}

# The provider keeps the seed as a file in a temporary directory and makes it again
# when it is gone (dmacvicar/terraform-provider-libvirt#1368). The copy that the
# machine has stays as it is.
resource "libvirt_volume" "seed" {
  for_each = local.nodes
  name     = "etcd-${each.key}-seed.iso"
  pool     = var.pool
  create   = { content = { url = libvirt_cloudinit_disk.seed[each.key].path } }

  lifecycle {
    ignore_changes       = all
    replace_triggered_by = [etcd_cluster.this.node[each.key].id]
  }
}

resource "libvirt_domain" "node" {
  for_each    = local.nodes
  name        = "etcd-${each.key}"
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
    consoles = [{ target = { type = "serial" } }] # virsh console etcd-a
  }

  lifecycle {
    replace_triggered_by = [etcd_cluster.this.node[each.key].id] # a rebuilt node, a new machine
  }
}

# The number of the domain (id) is another one after each start.
resource "etcd_member" "node" {
  for_each   = local.nodes
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
