# The present value of each member, as a JSON object.
terraform import etcd_rollout.this '{"a":"debian-12-etcd-3.6.16","b":"debian-12-etcd-3.6.16","c":"debian-12-etcd-3.6.16"}'
