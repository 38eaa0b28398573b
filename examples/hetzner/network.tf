# The private network of the members, what may reach them from outside, and their
# public addresses, which are known before the machines.

resource "hcloud_network" "this" {
  name     = "etcd"
  ip_range = "10.0.0.0/16"
}

resource "hcloud_network_subnet" "this" {
  network_id   = hcloud_network.this.id
  type         = "cloud"
  network_zone = "eu-central"
  ip_range     = "10.0.1.0/24"
}

resource "hcloud_placement_group" "this" { # no two of them on one host
  name = "etcd"
  type = "spread"
}

# It does not filter the private network, where peers use port 2380.
resource "hcloud_firewall" "this" {
  name = "etcd"

  rule {
    description = "etcd clients, and Terraform"
    direction   = "in"
    protocol    = "tcp"
    port        = "2379"
    source_ips  = var.admin_networks
  }

  rule {
    direction  = "in"
    protocol   = "tcp"
    port       = "22"
    source_ips = var.admin_networks
  }
}

resource "hcloud_primary_ip" "node" {
  for_each    = local.nodes
  name        = "etcd-${each.key}"
  type        = "ipv4"
  location    = var.location
  auto_delete = false
}

resource "hcloud_ssh_key" "this" {
  name       = "etcd"
  public_key = var.ssh_public_key
}
