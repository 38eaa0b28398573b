# By ID in hexadecimal, by name, or by peer URL.
terraform import etcd_learner.standby 8e9e05c52164694d
terraform import etcd_learner.standby standby
terraform import etcd_learner.standby https://10.0.1.20:2380
