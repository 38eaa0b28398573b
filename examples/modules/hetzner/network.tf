# The private network of the members, what may reach them from outside, and their
# public addresses, which are known before the machines.

resource "hcloud_network" "this" {
  name     = var.name
  ip_range = cidrsubnet("${values(var.nodes)[0]}/16", 0, 0)
}

resource "hcloud_network_subnet" "this" {
  network_id   = hcloud_network.this.id
  type         = "cloud"
  network_zone = var.network_zone
  ip_range     = cidrsubnet("${values(var.nodes)[0]}/24", 0, 0)
}

resource "hcloud_placement_group" "this" { # no two of them on one host
  name = var.name
  type = "spread"
}

# It does not filter the private network, where peers use port 2380.
resource "hcloud_firewall" "this" {
  name = var.name

  rule {
    description = "etcd clients, and Terraform"
    direction   = "in"
    protocol    = "tcp"
    port        = "2379"
    source_ips  = distinct(concat(var.admin_networks, var.client_networks))
  }

  rule {
    direction  = "in"
    protocol   = "tcp"
    port       = "22"
    source_ips = var.admin_networks
  }
}

resource "hcloud_primary_ip" "node" {
  for_each    = var.nodes
  name        = "${var.name}-${each.key}"
  type        = "ipv4"
  location    = var.location
  auto_delete = false
}

resource "hcloud_ssh_key" "this" {
  name       = var.name
  public_key = var.ssh_public_key
}
