# By ID in hexadecimal, by name, or by peer URL.
terraform import 'etcd_member.node["a"]' 8e9e05c52164694d
terraform import 'etcd_member.node["a"]' a
terraform import 'etcd_member.node["a"]' https://10.0.1.10:2380
