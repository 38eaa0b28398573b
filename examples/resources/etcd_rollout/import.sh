# By what each member has at present, as a JSON object: nothing else knows it.
terraform import etcd_rollout.this '{"a":"debian-12-etcd-3.6.16","b":"debian-12-etcd-3.6.16","c":"debian-12-etcd-3.6.16"}'
