// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

// userData gives the machines of a fleet what they boot from, as the examples do
// for cloud-init. It is part of the machine, so that a plan prints it.
const userData = `
resource "terraform_data" "machine" {
  input = {
    dir = "${var.machines}/${coalesce(each.value.name, each.key)}"
    sh  = var.machine_sh
    user_data = templatefile(%q, {
      member_env             = provider::etcd::environment_file(merge(var.environment, etcd_member_config.node[each.key].environment))
      join_script_base64gzip = etcd_member_config.node[each.key].join_script_base64gzip
      archive                = { url = "https://releases.example.com/etcd.tar.gz", sha256 = "0000" }
    })
  }
}
`

// printed is what a person reads of a plan.
func (f *Fleet) printed(args ...string) string {
	f.tb.Helper()
	f.save()
	o := f.Run(append([]string{"plan", "-no-color", "-input=false"}, args...)...).MustSucceed()
	return string(o.Stdout) + string(o.Stderr)
}
