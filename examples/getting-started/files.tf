# Writes the certificates to files, which cloud-init does on a virtual machine.

locals {
  names = setunion(keys(var.nodes), ["root"])
  pki   = "${abspath(var.directory)}-pki"

  # How etcd serves clients and peers.
  tls_environment = { for name, _ in var.nodes : name => {
    ETCD_TRUSTED_CA_FILE       = terraform_data.files[name].output.ca
    ETCD_CERT_FILE             = terraform_data.files[name].output.cert
    ETCD_KEY_FILE              = terraform_data.files[name].output.key
    ETCD_CLIENT_CERT_AUTH      = "true"
    ETCD_PEER_TRUSTED_CA_FILE  = terraform_data.files[name].output.ca
    ETCD_PEER_CERT_FILE        = terraform_data.files[name].output.cert
    ETCD_PEER_KEY_FILE         = terraform_data.files[name].output.key
    ETCD_PEER_CLIENT_CERT_AUTH = "true"
  } }
}

resource "terraform_data" "files" {
  for_each         = local.names
  triggers_replace = [local.ca, local.certificates[each.key]]
  input = {
    parent    = local.pki
    directory = "${local.pki}/${each.key}"
    ca        = "${local.pki}/${each.key}/ca.pem"
    cert      = "${local.pki}/${each.key}/cert.pem"
    key       = "${local.pki}/${each.key}/key.pem"
  }

  provisioner "local-exec" {
    command     = "umask 077 && mkdir -p '${self.input.directory}' && cd '${self.input.directory}' && printf %s \"$CA\" >ca.pem && printf %s \"$CERT\" >cert.pem && printf %s \"$KEY\" >key.pem"
    environment = { CA = local.ca, CERT = local.certificates[each.key], KEY = local.keys[each.key] }
  }

  provisioner "local-exec" {
    when    = destroy
    command = "rm -r '${self.input.directory}'; rmdir '${self.input.parent}' 2>/dev/null || true"
  }
}
