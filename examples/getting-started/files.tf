# The certificate of root as files, for etcdctl.

locals {
  names = setunion(keys(var.nodes), ["root"])
}

resource "terraform_data" "root" {
  triggers_replace = [local.ca, local.certificates["root"]]
  input            = "${abspath(var.directory)}-pki/root"

  provisioner "local-exec" {
    command     = "umask 077 && mkdir -p '${self.input}' && cd '${self.input}' && printf %s \"$CA\" >ca.pem && printf %s \"$CERT\" >cert.pem && printf %s \"$KEY\" >key.pem"
    environment = { CA = local.ca, CERT = local.certificates["root"], KEY = local.keys["root"] }
  }

  provisioner "local-exec" {
    when    = destroy
    command = "rm -r '${self.input}' && rmdir '${dirname(self.input)}'"
  }
}
