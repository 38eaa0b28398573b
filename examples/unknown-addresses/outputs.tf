output "endpoints" {
  description = "Client URLs of the members."
  value       = [for name in var.nodes : local.address[name].client_url]
}
