# A standby: it receives all data and does not vote. Set promote to true to
# promote it in place once it has caught up.
resource "etcd_member_config" "standby" {
  name    = "standby"
  address = "10.0.1.20"
}

resource "terraform_data" "machine" { # stands for your virtual machine
  triggers_replace = etcd_member_config.standby.id
  input            = etcd_member_config.standby.environment
}

resource "etcd_learner" "standby" {
  config     = etcd_member_config.standby
  machine_id = terraform_data.machine.id
  promote    = false
}
