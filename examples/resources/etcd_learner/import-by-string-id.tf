import {
  to = etcd_learner.standby
  id = "standby"
}
