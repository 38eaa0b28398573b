# For EnvironmentFile=/etc/etcd/etcd.env in the unit of etcd. Add the paths of
# the data directory and of the certificates.
output "etcd_env" {
  value = provider::etcd::environment_file({
    ETCD_NAME                        = "a"
    ETCD_DATA_DIR                    = "/var/lib/etcd"
    ETCD_INITIAL_ADVERTISE_PEER_URLS = "https://10.0.1.10:2380"
    ETCD_INITIAL_CLUSTER             = provider::etcd::initial_cluster({ a = ["https://10.0.1.10:2380"] })
  })
}
