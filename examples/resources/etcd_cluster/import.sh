# By the ID of the cluster at the endpoints of the provider.
terraform import etcd_cluster.this 3f1c2ab45d6e7f80
