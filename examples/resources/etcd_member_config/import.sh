# By the name of a member that is in the cluster.
terraform import 'etcd_member_config.node["a"]' a
